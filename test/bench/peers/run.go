package main

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/ambit-dev/ambit/test/bench/program"
	"github.com/ambit-dev/ambit/test/bench/report"
	"github.com/ambit-dev/ambit/test/bench/stage"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/freeport"
)

// composite is the operator as metacontroller is told of it.
//
//go:embed composite.yaml
var composite []byte

// run is one turn of a side. For one goroutine.
type run struct {
	options
	side  side
	stage *stage.Stage
	// webhook is the server that the side calls; nil without hooks. hooks is its address.
	webhook *program.Process
	hooks   string
	// process is the side at work, began where its requests begin in the log, and before what the
	// API server had used by then, or by when a step last looked.
	process *program.Process
	began   cluster.Mark
	before  program.Usage
	// got is what has been measured so far.
	got sample
}

// measure opens a stage for the turn, and takes the steps.
func (r *run) measure(ctx context.Context) (err error) {
	report.Progress("%s: preparing %d owners", r.side.name, r.Owners)
	if r.side.hooks {
		if err := r.startWebhook(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, r.webhook.Stop()) }()
	}
	r.stage, err = stage.Open(ctx, stage.Options{
		Namespaces: r.Namespaces, Users: []string{r.side.name}, OwnerGroup: r.side.group,
		Children: []stage.Child{stage.Deployment()}, Rules: r.side.rules, Prepare: r.prepare,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.stage.Close()) }()
	if err := r.stage.Create(ctx, r.stage.Owners(r.Owners)); err != nil {
		return err
	}
	if err := r.within(ctx, r.converge); err != nil {
		return err
	}
	return r.within(ctx, r.restart)
}

// startWebhook starts the webhook.
func (r *run) startWebhook() (err error) {
	if r.hooks, err = freeport.Address(); err != nil {
		return err
	}
	r.webhook, err = program.Start([]string{filepath.Join(r.Bin, "bench-webhook"), "-address", r.hooks})
	return err
}

// prepare installs what the side needs. A side that makes the kind of the owners runs for that.
func (r *run) prepare(ctx context.Context, on *stage.Stage) error {
	r.stage = on
	if err := on.Apply(ctx, r.side.kinds...); err != nil {
		return err
	}
	if r.side.hooks {
		return on.Apply(ctx, bytes.ReplaceAll(composite, []byte("HOOKS"), []byte("http://"+r.hooks)))
	}
	if r.side.group == "" {
		return nil
	}
	return r.within(ctx, func(ctx context.Context) error {
		if err := on.OwnersServed(ctx); err != nil {
			return err
		}
		_, err := r.settle(ctx)
		return err
	})
}

// within starts the process, takes the step, which ends when the process does or when it takes too
// long, and stops the process.
func (r *run) within(ctx context.Context, step func(context.Context) error) (err error) {
	kubeconfig, err := r.stage.Kubeconfig(r.side.name)
	if err != nil {
		return err
	}
	if r.before, err = program.ReadUsage(r.stage.ServerPID()); err != nil {
		return err
	}
	r.began = r.stage.Requests.Now()
	command := append([]string{}, r.side.command...)
	if r.process, err = program.Start(append(command, "--kubeconfig", kubeconfig)); err != nil {
		return err
	}
	defer func() {
		if err = errors.Join(err, r.process.Stop()); err != nil {
			err = fmt.Errorf("%w; it printed last:\n%s", err, r.process.Said(4000))
		}
	}()
	ctx, cancel := r.process.During(ctx, r.Timeout)
	defer cancel()
	return step(ctx)
}

// converge measures from the start of the process until all owners have converged, then what that
// cost.
func (r *run) converge(ctx context.Context) error {
	base, err := r.readUsage() // the webhook has run before
	if err != nil {
		return err
	}
	at, err := r.stage.Converged(ctx, r.Owners)
	if err != nil {
		return err
	}
	r.got[converged] = at.Sub(r.process.Started).Seconds()
	if err := r.readProcessors(base, convergedCPU, serverCPU); err != nil {
		return err
	}
	report.Progress("%s: converged in %.1f s", r.side.name, r.got[converged])
	counted, err := r.settle(ctx)
	if err != nil {
		return err
	}
	owners := float64(r.Owners)
	r.got[requests], r.got[writes] = float64(counted.Writes+counted.Reads)/owners, float64(counted.Writes)/owners
	r.got[failed], r.got[watches] = float64(counted.Failed), float64(counted.Watches)
	if err := r.readMemory(); err != nil {
		return err
	}
	return r.measureIdle(ctx, counted.Watches)
}

// measureIdle measures for idleTime what the side, which has opened that many watches, does when
// there is nothing to do.
func (r *run) measureIdle(ctx context.Context, opened int) (err error) {
	base, err := r.readUsage()
	if err != nil {
		return err
	}
	if r.before, err = program.ReadUsage(r.stage.ServerPID()); err != nil {
		return err
	}
	began := time.Now()
	select {
	case <-time.After(idleTime):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := r.readProcessors(base, quietCPU, quietTheirs); err != nil {
		return err
	}
	minutes := time.Since(began).Minutes()
	counted, err := r.stage.Requests.Count(r.side.name, r.began)
	r.got[quietWatches] = float64(counted.Watches-opened) / minutes
	r.got[quietCPU] /= minutes
	r.got[quietTheirs] /= minutes
	return err
}

// restart measures what the process does when it is started with all work done.
func (r *run) restart(ctx context.Context) error {
	base, err := r.readUsage()
	if err != nil {
		return err
	}
	counted, err := r.settle(ctx)
	if err != nil {
		return err
	}
	r.got[restartRequests], r.got[restartWrites] = float64(counted.Writes+counted.Reads), float64(counted.Writes)
	report.Progress("%s: %d requests after a restart", r.side.name, counted.Writes+counted.Reads)
	return r.readProcessors(base, restartCPU, restartTheirs)
}

// idleTime is how long a side is looked at that has nothing to do.
const idleTime = 15 * time.Second

// restTime is how long a side rests between two looks at what it has asked for.
const restTime = 5 * time.Second

// settle waits until the side is quiet, and still is after a rest: some wait for seconds before they
// go on. Watches do not count. It returns the requests since the start of the process.
func (r *run) settle(ctx context.Context) (stage.Counted, error) {
	for last := -1; ; {
		counted, err := r.stage.Requests.Quiet(ctx, r.side.name, r.began, 1)
		if err != nil || counted.Writes+counted.Reads == last {
			return counted, err
		}
		last = counted.Writes + counted.Reads
		select {
		case <-time.After(restTime):
		case <-ctx.Done():
			return stage.Counted{}, context.Cause(ctx)
		}
	}
}

// readUsage returns what the side uses, with its webhook.
func (r *run) readUsage() (program.Usage, error) {
	use, err := r.process.Usage()
	if err != nil || r.webhook == nil {
		return use, err
	}
	more, err := r.webhook.Usage()
	return program.Usage{RSS: use.RSS + more.RSS, Peak: use.Peak + more.Peak, CPU: use.CPU + more.CPU}, err
}

// readProcessors reads the processor time of the side since base, and that of the API server since
// before.
func (r *run) readProcessors(base program.Usage, own, server metric) error {
	use, err := r.readUsage()
	if err != nil {
		return err
	}
	theirs, err := program.ReadUsage(r.stage.ServerPID())
	r.got[own], r.got[server] = (use.CPU - base.CPU).Seconds(), (theirs.CPU - r.before.CPU).Seconds()
	return err
}

// readMemory reads the resident memory of the side.
func (r *run) readMemory() error {
	use, err := r.readUsage()
	const mebibyte = 1 << 20
	r.got[resident], r.got[peak] = use.RSS/mebibyte, use.Peak/mebibyte
	return err
}
