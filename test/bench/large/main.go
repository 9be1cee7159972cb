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
	o := flags()
	ctrllog.SetLogger(logr.Discard()) // without a logger controller-runtime complains
	program.Main("large", func(ctx context.Context) error { return measure(ctx, o) })
}

// options say what is measured.
type options struct {
	// Scale divides the numbers of owners and namespaces.
	Scale int
	// Workers is how many owners a side works on at once.
	Workers int
	// Scenes are the names of those that are run, in this order.
	Scenes []string
	// Timeout is how long a side may take for any one step.
	Timeout time.Duration
	// Bin is the folder of the binaries.
	Bin string
}

// flags returns the options of the command line; it exits with 2 on a usage error.
func flags() options {
	var o options
	flag.IntVar(&o.Scale, "scale", 1, "divides the numbers of owners and namespaces")
	flag.IntVar(&o.Workers, "concurrency", 10, "owners that a side works on at once")
	flag.DurationVar(&o.Timeout, "timeout", 15*time.Minute, "the longest that a side may take for a step")
	flag.StringVar(&o.Bin, "bin", "bin", "folder of the binaries")
	names := flag.String("scenes", strings.Join(allScenes(), ","), "the scenes that are run")
	flag.Parse()
	o.Scenes = strings.Split(*names, ",")
	if o.Scale < 1 || o.Workers < 1 {
		fmt.Fprintln(os.Stderr, "large: -scale and -concurrency are at least 1")
		os.Exit(2)
	}
	return o
}

// measure runs the scenes and prints a table after each.
func measure(ctx context.Context, o options) error {
	scenes, err := pickScenes(o)
	if err != nil {
		return err
	}
	writeHead(os.Stdout, o)
	for _, s := range scenes {
		samples, err := s.runAll(ctx)
		if err != nil {
			return err
		}
		if err := s.writeTable(os.Stdout, samples); err != nil {
			return err
		}
	}
	return nil
}
