package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ambit-dev/ambit/test/bench/program"
	"github.com/ambit-dev/ambit/test/freeport"
)

// trial is the measurement of one way.
type trial struct {
	*stage
	way     way
	ambit   *program.Process
	streams *streams
	// metricsURL is where Ambit tells its metrics.
	metricsURL string
}

// measure measures one way, and leaves no owner and no RoleBinding behind.
func (s *stage) measure(ctx context.Context, w way) (got result, err error) {
	progress("%s: starting ambit", w.title)
	t := &trial{stage: s, way: w, streams: newStreams(s.control.Audit(), w.user)}
	if err := t.start(); err != nil {
		return result{}, err
	}
	whole, end := t.ambit.During(ctx, time.Hour)
	defer end()
	var following sync.WaitGroup
	following.Go(func() { t.streams.follow(whole) })
	got, err = t.run(whole)
	if err = errors.Join(err, t.ambit.Stop()); err != nil {
		err = fmt.Errorf("%w\nthe end of what ambit printed:\n%s", err, t.ambit.Said(4000))
	}
	end()
	following.Wait()
	return got, err
}

// start starts Ambit.
func (t *trial) start() error {
	kubeconfig, err := t.kubeconfig(t.way.user)
	if err != nil {
		return err
	}
	address, err := freeport.Address()
	if err != nil {
		return err
	}
	t.metricsURL = "http://" + address + "/metrics"
	t.ambit, err = program.Start(append(t.command(), "--kubeconfig", kubeconfig, "--metrics-bind-address", address, "--metrics-secure=false"))
	return err
}

// run goes through all of a trial.
func (t *trial) run(ctx context.Context) (result, error) {
	got := result{way: t.way}
	staying, err := t.settle(ctx, &got)
	if err != nil {
		return got, err
	}
	if got.before, err = t.footprint(ctx); err != nil {
		return got, err
	}
	progress("%s: %d cycles over %d namespaces", t.way.title, t.Cycles, t.Namespaces)
	began, mark := time.Now(), t.control.Audit().Mark()
	cycles, err := t.cycles(ctx)
	if err != nil {
		return got, err
	}
	log, err := t.control.Audit().Since(mark, t.way.user)
	if err != nil {
		return got, err
	}
	got.reviews = float64(count(log).reviews) / time.Since(began).Seconds()
	got.latencies = collect(cycles)
	for _, c := range cycles {
		closed := closing(log, c.namespace, c.revoked, c.cleared)
		got.latencies[revokeToClosing] = append(got.latencies[revokeToClosing], closed.Sub(c.revoked).Seconds())
	}
	if err := t.rest(ctx); err != nil {
		return got, err
	}
	if got.after, err = t.footprint(ctx); err != nil {
		return got, err
	}
	return got, t.leave(ctx, staying)
}

// settle brings Ambit to where the cycles begin: everything has been done once,
// and where RBAC objects are not watchable the cost of open watches is measured.
// It returns the namespaces that stay granted.
func (t *trial) settle(ctx context.Context, got *result) ([]string, error) {
	if err := t.untilOpen(ctx, "", t.watchesOfAll()); err != nil {
		return nil, err
	}
	cycling := t.cycling()
	var staying []string
	if !t.way.watchable {
		staying = t.stayingNames()
	}
	all := slices.Concat(cycling, staying)
	if err := t.each(ctx, all, t.fill); err != nil {
		return nil, err
	}
	if !t.way.watchable {
		if err := t.quiet(ctx, got); err != nil {
			return nil, err
		}
	}
	if err := t.leave(ctx, cycling); err != nil {
		return nil, err
	}
	return staying, t.rest(ctx)
}

// watchesOfAll is how many watches of all namespaces Ambit has: of owners, and of
// the four kinds of RBAC objects.
func (t *trial) watchesOfAll() int {
	if t.way.watchable {
		return 5
	}
	return 1
}

// fill grants a namespace and makes an owner there, and waits until it is served.
func (t *trial) fill(ctx context.Context, namespace string) error {
	if err := t.grantHere(ctx, namespace); err != nil {
		return err
	}
	if err := t.createOwner(ctx, namespace); err != nil {
		return err
	}
	return t.served(ctx, namespace)
}

// leave empties namespaces that were filled, and waits until Ambit watches nothing
// there.
func (t *trial) leave(ctx context.Context, namespaces []string) error {
	return t.each(ctx, namespaces, func(ctx context.Context, namespace string) error {
		if err := t.clear(ctx, namespace); err != nil {
			return err
		}
		if err := t.untilOpen(ctx, namespace, 0); err != nil {
			return err
		}
		return t.revoke(ctx, namespace)
	})
}

// atOnce is how many namespaces are filled or emptied at once.
const atOnce = 10

// each does something in each namespace.
func (t *trial) each(ctx context.Context, namespaces []string, do func(context.Context, string) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(atOnce)
	for _, namespace := range namespaces {
		group.Go(func() error { return do(ctx, namespace) })
	}
	return group.Wait()
}

// restFor is how long nothing happens before Ambit's footprint is read.
const restFor = 3 * time.Second

// rest lets Ambit come to rest.
func (t *trial) rest(ctx context.Context) error { return pause(ctx, restFor) }
