//go:build !race

package suites

// raced: this test was built with the race detector, and so are the suites.
const raced = false
