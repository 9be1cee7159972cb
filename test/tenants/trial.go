package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/bench/program"
	"github.com/ambit-dev/ambit/test/cluster"
)

// result is what was measured of one step.
type result struct {
	step string
	// took is how long it took; for a step without an effect to wait for, how long it
	// lasted.
	took time.Duration
	// lastWrite is when Ambit's last write of the step was answered, from its
	// beginning; 0 without any.
	lastWrite time.Duration
	asked     requests
	// cpu is the processor time that Ambit had, and rss its resident memory after it.
	cpu time.Duration
	rss float64
}

// step is something that is done, with its effect.
type step struct {
	title string
	do    func(context.Context) error
	// holds returns nil when the effect is there.
	holds func(context.Context) error
}

// steps are all of them, in order.
func (s *stage) steps() []step {
	return []step{
		{fmt.Sprintf("tenant of %d namespaces made", s.Namespaces), func(ctx context.Context) error {
			return s.control.Apply(ctx, []byte(tenantText))
		}, func(ctx context.Context) error { return s.served(ctx, s.Namespaces) }},
		{"peace", func(ctx context.Context) error { return pause(ctx, s.Peace) }, func(context.Context) error { return nil }},
		{"one namespace more", func(ctx context.Context) error {
			return s.makeNamespace(ctx, namespaceName(s.Namespaces))
		}, func(ctx context.Context) error { return s.served(ctx, s.Namespaces+1) }},
		{"tenant deleted", func(ctx context.Context) error {
			return s.objects.Resource(tenants()).Delete(ctx, tenantName, metav1.DeleteOptions{})
		}, s.gone},
	}
}

// measure runs Ambit through all steps.
func (s *stage) measure(ctx context.Context) (got []result, err error) {
	progress("starting ambit")
	kubeconfig, err := s.kubeconfig()
	if err != nil {
		return nil, err
	}
	ambit, err := program.Start(append(s.command(), "--kubeconfig", kubeconfig))
	if err != nil {
		return nil, err
	}
	whole, end := ambit.During(ctx, time.Hour)
	defer end()
	got, err = s.all(whole, ambit)
	if err = errors.Join(err, ambit.Stop()); err != nil {
		err = fmt.Errorf("%w\nthe end of what ambit printed:\n%s", err, ambit.Said(4000))
	}
	return got, err
}

// all takes Ambit, which has just been started, through all steps.
func (s *stage) all(ctx context.Context, ambit *program.Process) ([]result, error) {
	err := s.until(ctx, "Ambit watches Tenants", func(context.Context) error {
		open, err := s.control.Audit().OpenWatches(user)
		if err == nil && len(open) == 0 {
			err = errors.New("no watch is open")
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	if err := s.rest(ctx, s.control.Audit().Mark()); err != nil {
		return nil, err
	}
	var list []result
	for _, one := range s.steps() {
		got, err := s.take(ctx, one, ambit)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", one.title, err)
		}
		list = append(list, got)
	}
	return list, nil
}

// take takes Ambit through one step.
func (s *stage) take(ctx context.Context, one step, ambit *program.Process) (result, error) {
	progress("%s", one.title)
	before, err := ambit.Usage()
	if err != nil {
		return result{}, err
	}
	got, mark, began := result{step: one.title}, s.control.Audit().Mark(), time.Now()
	if err := one.do(ctx); err != nil {
		return got, err
	}
	if err := s.until(ctx, "it has had its effect", one.holds); err != nil {
		return got, err
	}
	got.took = time.Since(began)
	if err := s.rest(ctx, mark); err != nil {
		return got, err
	}
	log, err := s.control.Audit().Since(mark, user)
	if err != nil {
		return got, err
	}
	got.asked, got.lastWrite = count(log), lastWrite(log, began)
	after, err := ambit.Usage()
	got.cpu, got.rss = after.CPU-before.CPU, after.RSS
	return got, err
}

// lastWrite is when the last write of a log was answered, from a moment on.
func lastWrite(log []cluster.Request, began time.Time) time.Duration {
	last := time.Duration(0)
	for _, r := range log {
		if count([]cluster.Request{r}).all() > 0 {
			last = max(last, r.Logged.Sub(began))
		}
	}
	return last
}

// restFor is how long Ambit asks for nothing before a step is over.
const restFor = 3 * time.Second

// rest waits until Ambit asks for nothing any more. mark is where to look from.
func (s *stage) rest(ctx context.Context, mark cluster.Mark) error {
	seen, since := -1, time.Now()
	return s.until(ctx, "Ambit is at rest", func(context.Context) error {
		log, err := s.control.Audit().Since(mark, user)
		if err != nil {
			return err
		}
		asked := count(log)
		if n := asked.all() + asked.reads; n != seen {
			seen, since = n, time.Now()
		}
		if time.Since(since) < restFor {
			return fmt.Errorf("the last of %d requests was %s ago", seen, time.Since(since))
		}
		return nil
	})
}

// lookEvery is how often an effect is looked for.
const lookEvery = 200 * time.Millisecond

// until waits until holds returns nil. The error says what was waited for, and what
// holds returned last.
func (s *stage) until(ctx context.Context, what string, holds func(context.Context) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, s.Timeout, fmt.Errorf("not done after %s", s.Timeout))
	defer cancel()
	for last := error(nil); ; {
		err := holds(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() == nil {
			last = err
		}
		if err := pause(ctx, lookEvery); err != nil {
			return fmt.Errorf("waiting until %s (%v): %w", what, last, err)
		}
	}
}

// pause waits, until ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
