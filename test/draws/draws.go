// Package draws makes the properties of a package's tests try the same cases in each
// run: its tests import it, or package fewer, for that alone. What a property finds by chance would
// otherwise stop a change that has nothing to do with it. The flag -rapid.seed=0 draws
// anew, as `make soak` does.
package draws

import (
	"flag"

	_ "pgregory.net/rapid" // has the flag
)

func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}
