package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/test/bench/program"
)

func main() {
	o := readFlags()
	ctrllog.SetLogger(logr.Discard()) // without a logger controller-runtime complains
	program.Main("peers", func(ctx context.Context) error { return measureAll(ctx, o) })
}

// options say what is measured.
type options struct {
	// Owners is their number, Namespaces that of the namespaces they are spread over.
	Owners, Namespaces int
	// Rounds is how often each side has its turn.
	Rounds int
	// Workers is how many owners Ambit and a tuned side work on at once.
	Workers int
	// Sides are the names of those that take part, in the order of the table.
	Sides []string
	// Timeout is how long a side may take for any one step.
	Timeout time.Duration
	// Bin is the folder of the binaries; kro is built into it if it is not there.
	Bin string
	// Metacontroller is a binary of it, MetacontrollerKinds the file with the definitions of its kinds.
	Metacontroller, MetacontrollerKinds string
}

// readFlags returns the options of the command line; it exits with 2 on a usage error.
func readFlags() options {
	var o options
	flag.IntVar(&o.Owners, "owners", 500, "number of owners")
	flag.IntVar(&o.Namespaces, "namespaces", 10, "namespaces that the owners are spread over")
	flag.IntVar(&o.Rounds, "rounds", 1, "turns of each side")
	flag.IntVar(&o.Workers, "concurrency", 10, "owners that Ambit and a tuned side work on at once")
	flag.DurationVar(&o.Timeout, "timeout", 20*time.Minute, "the longest that a side may take for a step")
	flag.StringVar(&o.Bin, "bin", "bin", "folder of the binaries; kro is built into it")
	flag.StringVar(&o.Metacontroller, "metacontroller", "", "a `binary` of metacontroller; without one it is left out")
	flag.StringVar(&o.MetacontrollerKinds, "metacontroller-kinds", "", "the `file` with the definitions of its kinds")
	names := flag.String("sides", strings.Join(allSides(), ","), "the sides that take part")
	flag.Parse()
	o.Sides = strings.Split(*names, ",")
	if o.Owners < 1 || o.Rounds < 1 || o.Namespaces < 1 || o.Workers < 1 {
		fmt.Fprintln(os.Stderr, "peers: -owners, -namespaces, -rounds and -concurrency are at least 1")
		os.Exit(2)
	}
	return o
}

// measureAll measures all sides that can be had and prints the table.
func measureAll(ctx context.Context, o options) error {
	sides, absent, err := pickSides(ctx, o)
	if err != nil {
		return err
	}
	samples := map[string][]sample{}
	for round := range o.Rounds {
		for i := range sides {
			r := &run{options: o, side: sides[(round+i)%len(sides)], got: sample{}}
			if err := r.measure(ctx); err != nil {
				return fmt.Errorf("round %d of %s: %w", round+1, r.side.name, err)
			}
			samples[r.side.name] = append(samples[r.side.name], r.got)
		}
	}
	return writeTable(os.Stdout, table{options: o, sides: sides, absent: absent, samples: samples})
}
