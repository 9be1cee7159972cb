package main

import (
	"context"
	"errors"
	"time"

	"github.com/ambit-dev/ambit/test/bench/program"
	"github.com/ambit-dev/ambit/test/bench/stage"
	"github.com/ambit-dev/ambit/test/cluster"
)

// turn is one turn of a side: see the package comment. For one goroutine.
type turn struct {
	*bench
	side side
	// owners are those that the side has to serve.
	owners []stage.Key
	// process is the side at work, began where its requests begin in the log.
	process *program.Process
	began   cluster.Mark
	// got is what has been measured so far.
	got sample
}

// newTurn returns a turn of the side, in which nothing has been done.
func (b *bench) newTurn(side side) *turn {
	return &turn{bench: b, side: side, owners: b.stage.Owners(b.Owners), got: sample{}}
}

// measureTurn measures the side, and leaves no owner behind.
func (b *bench) measureTurn(ctx context.Context, side side) (sample, error) {
	t := b.newTurn(side)
	err := t.measureSteps(ctx)
	return t.got, errors.Join(err, t.clearStage(ctx))
}

// serveOwners makes the owners and starts the side, and returns when that is measured. Whoever calls it calls
// clearStage, even if it fails.
func (t *turn) serveOwners(ctx context.Context) error {
	if err := t.stage.Create(ctx, t.owners); err != nil {
		return err
	}
	if err := t.start(); err != nil {
		return err
	}
	return t.within(ctx, t.converge)
}

// clearStage stops the side, if it was started, and deletes all owners.
func (t *turn) clearStage(ctx context.Context) (err error) {
	if t.process != nil {
		err = t.process.Stop()
	}
	return errors.Join(err, t.stage.Wipe(ctx))
}

// measureSteps measures each step in turn, from the making of owners to owners made while the side runs.
func (t *turn) measureSteps(ctx context.Context) error {
	if err := t.serveOwners(ctx); err != nil {
		return err
	}
	if t.side.restarts {
		if err := t.restart(ctx); err != nil {
			return err
		}
	}
	return t.within(ctx, t.live)
}

// start starts the side's process.
func (t *turn) start() (err error) {
	t.began = t.stage.Requests.Now()
	t.process, err = program.Start(append(t.side.command, "--kubeconfig", t.kubeconfigs[t.side.name]))
	return err
}

// within takes the steps, each of which ends when the process does or when it
// takes too long.
func (t *turn) within(ctx context.Context, steps ...func(context.Context) error) error {
	for _, step := range steps {
		ctx, cancel := t.process.During(ctx, t.Timeout)
		err := step(ctx)
		cancel()
		if err != nil {
			return err
		}
	}
	return nil
}

// converge measures from the start of the process until all owners have
// converged, then what that cost.
func (t *turn) converge(ctx context.Context) error {
	at, err := t.stage.Converged(ctx, len(t.owners))
	if err != nil {
		return err
	}
	t.got[converge] = at.Sub(t.process.Started).Seconds()
	use, err := t.process.Usage()
	if err != nil {
		return err
	}
	t.got[convergeCPU] = use.CPU.Seconds()
	counted, err := t.stage.Requests.Quiet(ctx, t.side.user(), t.began, 1)
	if err != nil {
		return err
	}
	owners := float64(len(t.owners))
	t.got[writes], t.got[reads] = float64(counted.Writes)/owners, float64(counted.Reads)/owners
	t.got[failed], t.got[watches] = float64(counted.Failed), float64(counted.Watches)
	return t.memory()
}

// memory reads the resident memory of the process.
func (t *turn) memory() error {
	use, err := t.process.Usage()
	if err != nil {
		return err
	}
	const mebibyte = 1 << 20
	t.got[rss], t.got[peak] = use.RSS/mebibyte, use.Peak/mebibyte
	return nil
}

// restart stops the process, starts it again and counts its requests until it is
// quiet. Nothing has changed in between.
func (t *turn) restart(ctx context.Context) error {
	if err := t.process.Stop(); err != nil {
		return err
	}
	if err := t.start(); err != nil {
		return err
	}
	return t.within(ctx, func(ctx context.Context) error {
		counted, err := t.stage.Requests.Quiet(ctx, t.side.user(), t.began, 1)
		t.got[restartWrites], t.got[restartReads] = float64(counted.Writes), float64(counted.Reads)
		return err
	})
}

// live deletes everything, makes the owners anew while the side runs, and
// measures until they have converged.
func (t *turn) live(ctx context.Context) error {
	wiped := t.stage.Requests.Now()
	if err := t.stage.Wipe(ctx); err != nil {
		return err
	}
	if _, err := t.stage.Requests.Quiet(ctx, t.side.user(), wiped, 0); err != nil {
		return err
	}
	began, first := t.stage.Requests.Now(), time.Now()
	if err := t.stage.Create(ctx, t.owners); err != nil {
		return err
	}
	at, err := t.stage.Converged(ctx, len(t.owners))
	if err != nil {
		return err
	}
	t.got[live] = at.Sub(first).Seconds()
	counted, err := t.stage.Requests.Quiet(ctx, t.side.user(), began, 1)
	t.got[liveRequests] = float64(counted.Writes+counted.Reads) / float64(len(t.owners))
	return err
}
