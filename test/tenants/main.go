package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/ambit-dev/ambit/test/bench/program"
)

func main() {
	o := flags()
	program.Main("tenants", func(ctx context.Context) error { return run(ctx, o) })
}

// options say what is measured.
type options struct {
	// Namespaces is how many the Tenant has at first.
	Namespaces int
	// Peace is how long nothing happens.
	Peace time.Duration
	// Timeout is how long Ambit may take for any one step.
	Timeout time.Duration
	// Bin is the folder of the binaries.
	Bin string
}

// mostNamespaces is what the kind allows, less the one that is added.
const mostNamespaces = 999

// flags returns the options of the command line; it exits with 2 on a usage error.
func flags() options {
	var o options
	flag.IntVar(&o.Namespaces, "namespaces", 100, "namespaces of the tenant")
	flag.DurationVar(&o.Peace, "peace", time.Minute, "how long nothing happens")
	flag.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "the longest that Ambit may take for any one step")
	flag.StringVar(&o.Bin, "bin", "bin", "folder of the binaries")
	flag.Parse()
	if o.Namespaces < 1 || o.Namespaces > mostNamespaces || o.Peace < 0 || o.Timeout <= 0 {
		fmt.Fprintf(os.Stderr, "tenants: -namespaces is 1 to %d, -peace is not negative, -timeout is more than 0\n", mostNamespaces)
		os.Exit(2)
	}
	return o
}

// command is Ambit, but for how it reaches the API server.
func (o options) command() []string {
	return []string{filepath.Join(o.Bin, "ambit"), "run", "-f", policyFile}
}

// run measures and prints the table.
func run(ctx context.Context, o options) (err error) {
	s, err := open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	got, err := s.measure(ctx)
	if err != nil {
		return err
	}
	return write(os.Stdout, o, got)
}

// progress tells whoever waits what is going on.
func progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%s] %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
