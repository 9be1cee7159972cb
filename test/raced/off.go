//go:build !race

package raced

// Enabled says whether this test was built with the race detector.
const Enabled = false
