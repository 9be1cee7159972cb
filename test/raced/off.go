//go:build !race

package raced

// Enabled says whether this test was built with the race detector.
const Enabled = false

// Few is how many cases a test runs: all of them, or with the race detector no more than few.
func Few(_, all int) int { return all }
