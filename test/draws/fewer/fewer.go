// Package fewer is package draws for tests whose properties take long with the race detector, which draws a tenth of
// their cases with it: see package raced.
package fewer

import (
	"flag"
	"strconv"

	_ "github.com/ambit-dev/ambit/test/draws" // sets what this lowers
	"github.com/ambit-dev/ambit/test/raced"
)

func init() {
	if err := flag.Set("rapid.checks", strconv.Itoa(raced.Few(10, 100))); err != nil {
		panic(err)
	}
}
