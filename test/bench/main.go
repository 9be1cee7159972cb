package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/test/bench/program"
	"github.com/ambit-dev/ambit/test/bench/report"
	"github.com/ambit-dev/ambit/test/bench/stage"
)

func main() {
	ctrllog.SetLogger(logr.Discard()) // without a logger controller-runtime complains
	o := flags()
	program.Main("bench", func(ctx context.Context) error { return run(ctx, o) })
}

// options say what is measured.
type options struct {
	// Owners is their number, Namespaces that of the namespaces they are spread over.
	Owners, Namespaces int
	// Rounds is how often each side has its turn.
	Rounds int
	// Touches is how many owners of each side are changed one after the other, in each of two halves.
	Touches int
	// Workers is how many owners a side works on at once.
	Workers int
	// Sides are the names of those that take part, in the order of the table.
	Sides []string
	// Timeout is how long a side may take for any one step.
	Timeout time.Duration
	// Bin is the folder of the binaries.
	Bin string
}

// flags returns the options of the command line; it exits with 2 on a usage error.
func flags() options {
	var o options
	flag.IntVar(&o.Owners, "owners", 500, "number of owners")
	flag.IntVar(&o.Namespaces, "namespaces", 10, "namespaces that the owners are spread over")
	flag.IntVar(&o.Rounds, "rounds", 3, "turns of each side")
	flag.IntVar(&o.Touches, "touches", 300, "owners of each side changed one after the other, in each of two halves; 0: none")
	flag.IntVar(&o.Workers, "concurrency", 10, "owners that a side works on at once")
	flag.DurationVar(&o.Timeout, "timeout", 3*time.Minute, "the longest that a side may take for a step")
	flag.StringVar(&o.Bin, "bin", "bin", "folder of the binaries")
	names := flag.String("sides", strings.Join(allSides(), ","), "the sides that take part")
	flag.Parse()
	o.Sides = strings.Split(*names, ",")
	if o.Owners < 1 || o.Rounds < 1 || o.Namespaces < 1 || o.Touches < 0 {
		fmt.Fprintln(os.Stderr, "bench: -owners, -namespaces and -rounds are at least 1")
		os.Exit(2)
	}
	return o
}

// What an API server has beside a mebibyte for each owner, in MiB. By its own settings its heap grows in the turn of
// one side and shrinks in that of another, and where a page of memory is dear, as it is in many a virtual machine, the
// side that met the growth is slower by a third. Of 2,000 owners 480 to 630 MiB live at the end of a turn: with 1,500 MiB
// the API server collected every three seconds.
const (
	// turnsMemory is filled by the turn that does not count.
	turnsMemory = 1000
	// touchMemory is filled while the owners are made that are touched.
	touchMemory = 400
)

// bench is what all sides take turns on.
type bench struct {
	options
	stage *stage.Stage
	// kubeconfigs are the files of the sides' users, by the name of the side.
	kubeconfigs map[string]string
}

// open opens the stage, whose API server has that much memory. Whoever opens it closes it.
func open(ctx context.Context, o options, sides []side, apiServerMemory int) (*bench, error) {
	report.Progress("starting etcd and kube-apiserver")
	on := stage.Options{
		Namespaces: o.Namespaces, Children: []stage.Child{stage.Deployment()}, Rules: stage.MemcachedRules(),
		APIServerMemory: fmt.Sprintf("%dMiB", apiServerMemory),
	}
	for _, s := range sides {
		on.Users = append(on.Users, s.user())
	}
	opened, err := stage.Open(ctx, on)
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, stage: opened, kubeconfigs: map[string]string{}}
	for _, s := range sides {
		if b.kubeconfigs[s.name], err = opened.Kubeconfig(s.user()); err != nil {
			return nil, errors.Join(err, opened.Close())
		}
	}
	return b, nil
}

// run measures all sides and prints the table.
func run(ctx context.Context, o options) error {
	sides, err := pick(o)
	if err != nil {
		return err
	}
	samples, err := measureRounds(ctx, o, sides)
	if err != nil {
		return err
	}
	if o.Touches > 0 {
		touched, err := measureTouches(ctx, o, sides)
		if err != nil {
			return fmt.Errorf("touching owners: %w", err)
		}
		for name, got := range touched {
			samples[name] = append(samples[name], got)
		}
	}
	return write(os.Stdout, o, samples)
}

// measureRounds measures all but touches, the sides in turn on one control plane.
func measureRounds(ctx context.Context, o options, sides []side) (samples map[string][]sample, err error) {
	b, err := open(ctx, o, sides, turnsMemory+o.Owners)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, b.stage.Close()) }()
	return b.rounds(ctx, sides)
}

// rounds lets the sides take turns and returns what was measured of each, by name. The first turn does not count: it fills
// the memory of the API server.
func (b *bench) rounds(ctx context.Context, sides []side) (map[string][]sample, error) {
	report.Progress("warming up with %s", sides[0].name)
	if _, err := b.measureTurn(ctx, sides[0]); err != nil {
		return nil, fmt.Errorf("warming up with %s: %w", sides[0].name, err)
	}
	samples := map[string][]sample{}
	for round := range b.Rounds {
		for i := range sides {
			side := sides[(round+i)%len(sides)]
			got, err := b.measureTurn(ctx, side)
			if err != nil {
				return nil, fmt.Errorf("round %d of %s: %w", round+1, side.name, err)
			}
			report.Progress("round %d of %d, %s: converged in %.2f s, live in %.2f s",
				round+1, b.Rounds, side.name, got[converge], got[live])
			samples[side.name] = append(samples[side.name], got)
		}
	}
	return samples, nil
}
