package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	var r runner
	flag.StringVar(&r.root, "root", ".", "the root of the module")
	names := flag.String("bug", ".", "the bugs whose names match this regular expression")
	flag.IntVar(&r.plans, "plans", 2000, "how many plans of each may go by until one catches a bug")
	flag.StringVar(&r.scenarios, "scenario", "memcached,copies;all", "run plans of these scenarios, separated by commas; behind a semicolon, those for bugs that no plan of the first ones catches")
	flag.IntVar(&r.replays, "replays", 0, "run plans on one processor, and the one that catches a bug as often again, in processes of its own: how often it does so again")
	flag.DurationVar(&r.timeout, "timeout", 15*time.Minute, "how long the plans of one bug may take")
	flag.Parse()
	missed, err := r.all(context.Background(), *names)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if missed > 0 {
		fmt.Fprintf(os.Stderr, "%d bugs were not caught\n", missed)
		os.Exit(1)
	}
}

// runner builds the tests of package sim with a bug, and runs plans.
type runner struct {
	root      string
	plans     int
	scenarios string
	timeout   time.Duration
	replays   int
}

// row is one of the table.
const row = "%-34s %-38s %6s %-18s %12s %8s %8s\n"

// all prints a line for each bug, and returns how many were not caught.
func (r *runner) all(ctx context.Context, names string) (missed int, err error) {
	match, err := regexp.Compile(names)
	if err != nil {
		return 0, fmt.Errorf("reading -bug: %w", err)
	}
	if r.root, err = filepath.Abs(r.root); err != nil {
		return 0, fmt.Errorf("finding the root of the module: %w", err)
	}
	bugs, err := Read(filepath.Join(r.root, "test/sim/testdata/bugs"), match)
	if err != nil {
		return 0, err
	}
	if len(bugs) == 0 {
		return 0, fmt.Errorf("no bug has a name that matches %q", names)
	}
	fmt.Printf(row, "bug", "caught by invariant", "plans", "of", "seed", "again", "seconds")
	for _, b := range bugs {
		began := time.Now()
		v, err := r.one(ctx, b)
		if err != nil {
			return missed, err
		}
		took := strconv.Itoa(int(time.Since(began).Seconds()))
		if !v.caught {
			missed++
			fmt.Printf(row, b.Name, "NOT CAUGHT", strconv.Itoa(r.plansFor(b)), r.scenariosFor(b), "", "", took)
			continue
		}
		fmt.Printf(row, b.Name, b.breaks(v.invariants), strconv.Itoa(v.plans), v.of, v.seed, r.again(v), took)
	}
	return missed, nil
}

// one says whether and how a bug is caught.
func (r *runner) one(ctx context.Context, b *Bug) (verdict, error) {
	files, err := b.Apply(r.root)
	if err != nil {
		return verdict{}, err
	}
	folder, err := os.MkdirTemp("", "bug-")
	if err != nil {
		return verdict{}, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }() // it is in the folder of what is temporary
	overlay, err := WriteOverlay(r.root, folder, files)
	if err != nil {
		return verdict{}, err
	}
	binary := filepath.Join(folder, "sim.test")
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-overlay", overlay, "-o", binary, "./test/sim")
	build.Dir = r.root
	if out, err := build.CombinedOutput(); err != nil {
		return verdict{}, fmt.Errorf("building with bug %q: %w\n%s", b.Name, err, out)
	}
	var v verdict
	for of := range strings.SplitSeq(r.scenariosFor(b), ";") {
		if v, err = r.runPlans(ctx, binary, b, of); v.caught || err != nil {
			break
		}
	}
	for range r.replays {
		if !v.caught || err != nil {
			break
		}
		var again verdict
		if again, err = r.runPlans(ctx, binary, b, v.of, planTests()[b.Test].seed, v.seed); again.caught && b.breaks(again.invariants) == b.breaks(v.invariants) {
			v.again++
		}
	}
	return v, err
}

// scenariosFor are those of which plans may catch a bug; the name of the test if it has none.
func (r *runner) scenariosFor(b *Bug) string {
	if planTests()[b.Test].scenarios {
		return r.scenarios
	}
	return b.Test
}

// plansFor is how many plans may go by until one catches a bug.
func (r *runner) plansFor(b *Bug) int {
	if most := planTests()[b.Test].most; most > 0 {
		return min(r.plans, most)
	}
	return r.plans
}

// again says how often the plan that caught a bug did so again.
func (r *runner) again(v verdict) string {
	if r.replays == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d", v.again, r.replays)
}

// runPlans runs plans of some scenarios with a bug.
func (r *runner) runPlans(ctx context.Context, binary string, b *Bug, scenarios string, more ...string) (verdict, error) {
	test := planTests()[b.Test]
	args := []string{"-test.run", "^" + b.Test + "$", "-test.timeout", r.timeout.String(),
		"-stop", cmp.Or(strings.Join(b.Expects, ","), "any"), test.count, strconv.Itoa(r.plansFor(b))}
	if test.scenarios {
		args = append(args, "-scenario", scenarios)
	}
	plans := exec.CommandContext(ctx, binary, append(args, more...)...)
	plans.Dir = filepath.Join(r.root, "test/sim")
	if r.replays > 0 {
		plans.Env = append(os.Environ(), "GOMAXPROCS=1")
	}
	var out bytes.Buffer
	plans.Stdout, plans.Stderr = &out, &out
	err := plans.Run()
	v := verdictOf(out.String())
	v.of = scenarios
	var failed *exec.ExitError
	if err != nil && !(v.caught && errors.As(err, &failed)) {
		return verdict{}, fmt.Errorf("running plans with bug %q: %w\n%s", b.Name, err, tail(out.String()))
	}
	return v, nil
}

// tail is the end of what a process printed.
func tail(out string) string {
	const most = 4000
	return out[max(0, len(out)-most):]
}

// verdict is what plans say of a bug.
type verdict struct {
	caught bool
	plans  int
	of     string // scenarios
	seed   string
	// invariants are those that did not hold, in order.
	invariants string
	again      int // how many replays did so as well
}

const between = " | "

// caughtLine is what TestPlans -stop prints.
var caughtLine = regexp.MustCompile(`(?m)^caught after (\d+) plans: seed (\d+): (.+)`)

func verdictOf(out string) verdict {
	found := caughtLine.FindStringSubmatch(out)
	if found == nil {
		return verdict{}
	}
	plans, err := strconv.Atoi(found[1])
	if err != nil {
		return verdict{}
	}
	return verdict{caught: true, plans: plans, seed: found[2], invariants: found[3]}
}
