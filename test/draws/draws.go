// Package draws makes the properties of a package's tests try the same cases in each
// run: its tests import it for that alone. What a property finds by chance would
// otherwise stop a change that has nothing to do with it. The flag -rapid.seed=0 draws
// anew, as `make soak` does. With the race detector there are a tenth of the cases: see package raced.
package draws

import (
	"flag"
	"strconv"

	_ "pgregory.net/rapid" // has the flags

	"github.com/ambit-dev/ambit/test/raced"
)

func init() {
	for name, value := range map[string]int{"rapid.seed": 1, "rapid.checks": raced.Few(10, 100)} {
		if err := flag.Set(name, strconv.Itoa(value)); err != nil {
			panic(err)
		}
	}
}
