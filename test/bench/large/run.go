package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ambit-dev/ambit/test/bench/program"
	"github.com/ambit-dev/ambit/test/bench/report"
	"github.com/ambit-dev/ambit/test/bench/stage"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/freeport"
)

// restTime is how long a side that is quiet rests until its memory is read: what it gives back, it has
// given back then.
const restTime = 5 * time.Second

// run is one side with one number of owners. For one goroutine.
type run struct {
	scene
	side   string
	owners int
	stage  *stage.Stage
	// metrics is the address where Ambit serves them.
	metrics string
	// process is the side at work, began where its requests begin in the log.
	process *program.Process
	began   cluster.Mark
	// got is what has been measured so far.
	got sample
}

// runAll measures all sides with all numbers of owners.
func (s scene) runAll(ctx context.Context) (map[string][]sample, error) {
	samples := map[string][]sample{}
	for _, owners := range s.Sizes {
		for _, side := range s.Sides {
			r := &run{scene: s, side: side, owners: owners, got: sample{}}
			if err := r.measure(ctx); err != nil {
				return nil, fmt.Errorf("%s with %d owners: %w", side, owners, err)
			}
			samples[side] = append(samples[side], r.got)
		}
	}
	return samples, nil
}

// measure opens a stage for the run, and takes the steps.
func (r *run) measure(ctx context.Context) (err error) {
	report.Progress("%s, %s: making %d owners in %d namespaces", r.Title, r.side, r.owners, r.On.Namespaces)
	on := r.On
	on.Users = []string{r.side}
	if r.stage, err = stage.Open(ctx, on); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stage.Close()) }()
	if r.metrics, err = freeport.Address(); err != nil {
		return err
	}
	if err := r.stage.Create(ctx, r.stage.Owners(r.owners)); err != nil {
		return err
	}
	if err := r.within(ctx, r.converge); err != nil || r.side == sideBare {
		return err
	}
	return r.within(ctx, r.restart)
}

// within starts the process, takes the step, which ends when the process does or when it takes too
// long, and stops the process.
func (r *run) within(ctx context.Context, step func(context.Context) error) (err error) {
	kubeconfig, err := r.stage.Kubeconfig(r.side)
	if err != nil {
		return err
	}
	r.began = r.stage.Requests.Now()
	command := r.command(r.side, r.metrics, r.stage.Namespaces())
	if r.process, err = program.Start(append(command, "--kubeconfig", kubeconfig)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.process.Stop()) }()
	ctx, cancel := r.process.During(ctx, r.Timeout)
	defer cancel()
	return step(ctx)
}

// converge measures from the start of the process until all owners have converged.
func (r *run) converge(ctx context.Context) error {
	at, err := r.stage.Converged(ctx, r.owners)
	if err != nil {
		return err
	}
	r.got[converged] = at.Sub(r.process.Started).Seconds()
	if err := r.readProcessor(convergedCPU); err != nil {
		return err
	}
	counted, err := r.rest(ctx, rss, peak)
	r.got[writes], r.got[reads] = float64(counted.Writes), float64(counted.Reads)
	r.got[failed], r.got[watches] = float64(counted.Failed), float64(counted.Watches)
	report.Progress("%s: converged in %.1f s, %.0f MiB", r.side, r.got[converged], r.got[rss])
	return err
}

// restart measures from the start of the process until it has verified all owners. Nothing has
// changed since it was stopped.
func (r *run) restart(ctx context.Context) error {
	at, err := awaitReconciles(ctx, r.readReconciles, r.owners)
	if err != nil {
		return err
	}
	r.got[verified] = at.Sub(r.process.Started).Seconds()
	if err := r.readProcessor(verifiedCPU); err != nil {
		return err
	}
	counted, err := r.rest(ctx, restartRSS, restartPeak)
	text := r.readMetrics(ctx)
	r.got[streams], r.got[objects] = float64(sumSeries(text, "ambit_watches")), float64(sumSeries(text, "ambit_watched_objects"))
	r.got[restartWrites], r.got[restartReads] = float64(counted.Writes), float64(counted.Reads)
	report.Progress("%s: verified in %.1f s after a restart, %.0f MiB", r.side, r.got[verified], r.got[restartRSS])
	return err
}

// readProcessor reads the processor time of the process.
func (r *run) readProcessor(as metric) error {
	use, err := r.process.Usage()
	r.got[as] = use.CPU.Seconds()
	return err
}

// rest waits until the process is quiet, and has been for restTime, and reads its memory. It returns
// the requests of the process.
func (r *run) rest(ctx context.Context, resident, most metric) (stage.Counted, error) {
	if _, err := r.stage.Requests.Quiet(ctx, r.side, r.began, 1); err != nil {
		return stage.Counted{}, err
	}
	select {
	case <-time.After(restTime):
	case <-ctx.Done():
		return stage.Counted{}, context.Cause(ctx)
	}
	use, err := r.process.Usage()
	if err != nil {
		return stage.Counted{}, err
	}
	const mebibyte = 1 << 20
	r.got[resident], r.got[most] = use.RSS/mebibyte, use.Peak/mebibyte
	return r.stage.Requests.Quiet(ctx, r.side, r.began, 1)
}
