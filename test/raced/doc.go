// Package raced says whether a test was built with the race detector. That makes a computation about eight times as
// long and finds nothing in it that few cases do not show as well. So a test that draws many cases runs few of them
// with the detector, and all of them without it: `make test-unraced` is that run.
package raced
