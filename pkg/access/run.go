package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// nowhere is no namespace, and cannot be one, for its name has a dot. The rules there
// are those of cluster-wide bindings only: what holds in all namespaces.
const nowhere = "ambit.dev"

// errTimeout ends a request that takes too long.
var errTimeout = errors.New("no answer in time")

// Start asks what is to be asked, until ctx ends, and returns when all that it
// started has ended. It may be called once; a second call returns an error.
func (r *Reviewer) Start(ctx context.Context) error {
	if !r.started.CompareAndSwap(false, true) {
		return errors.New("starting the reviewer: it was started before")
	}
	var running sync.WaitGroup
	defer running.Wait()
	for {
		r.tell()
		wait := r.send(ctx, &running)
		if !r.sleep(ctx, wait) {
			return nil
		}
	}
}

// sleep waits until there is something to do, and says whether there may be. A
// negative wait has no end.
func (r *Reviewer) sleep(ctx context.Context, wait time.Duration) bool {
	var over <-chan time.Time
	if wait >= 0 {
		timer := r.clock.NewTimer(wait)
		defer timer.Stop()
		over = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-r.wake:
	case <-over:
	}
	return ctx.Err() == nil
}

// tell tells the subscribers of all places that have something new.
func (r *Reviewer) tell() {
	for {
		r.mu.Lock()
		if len(r.owed) == 0 {
			r.owed = nil
			r.mu.Unlock()
			return
		}
		p := r.owed[0]
		r.owed = r.owed[1:]
		subs := make([]ChangeHandler, 0, len(p.subs))
		for sub := range p.subs {
			subs = append(subs, sub)
		}
		p.owed, p.untold, p.notify = false, false, p.notify && !p.resting()
		r.mu.Unlock()
		for _, sub := range subs {
			sub.Changed(p.Key)
		}
	}
}

// send sends all that may be sent now, and returns how long until there may be more;
// negative: not before something happens.
func (r *Reviewer) send(ctx context.Context, running *sync.WaitGroup) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		now := r.clock.Now()
		if r.running >= together {
			return -1
		}
		due, any := r.schedule.next(r.ceiling.smooth())
		if !any {
			return -1
		}
		if due = later(due, r.ceiling.free()); due.After(now) {
			return due.Sub(now)
		}
		p := r.schedule.take(now, r.ceiling.smooth())
		r.ceiling.take(now, p.class)
		r.running++
		req := p.take(now)
		running.Go(func() { r.review(ctx, p, req) })
	}
}

// review sends a request and takes the answer in.
func (r *Reviewer) review(ctx context.Context, p *place, req request) {
	a := r.ask(ctx, p.Key, req)
	if ctx.Err() != nil {
		return // the end, not an answer
	}
	r.log(p.Key, req, a)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	if p.gone {
		r.look()
		return
	}
	p.settle(r.clock.Now(), req, a)
	r.plan(p)
}

// ask sends a request.
func (r *Reviewer) ask(ctx context.Context, at Key, req request) answer {
	reviews, err := r.options.Reviews(at.Identity)
	if err != nil {
		return answer{err: fmt.Errorf("making the client of %q: %w", at.Identity, err)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := r.clock.AfterFunc(answerTime, func() { cancel(errTimeout) })
	defer timer.Stop()
	r.probes.Add(1)
	var a answer
	if req.fact == nil {
		a.rules, a.err = reviews.Rules(ctx, cmp.Or(at.Namespace, nowhere))
	} else {
		a.verdict, a.err = reviews.Access(ctx, at.Namespace, req.fact.access)
	}
	a.refusal = isRefusal(a.err)
	return a
}

// complaints is the least time between two messages that reviews fail.
const complaints = time.Minute

// log is for people: that reviews fail, now and then, and on V(1) each review.
func (r *Reviewer) log(at Key, req request, a answer) {
	logger := r.options.Logger.WithValues("identity", at.Identity, "namespace", at.Namespace)
	if a.err != nil && !a.refusal && r.complain() {
		logger.Info("access reviews fail", "error", a.err.Error())
	}
	if req.fact != nil {
		logger = logger.WithValues("access", req.fact.access)
	}
	logger.V(1).Info("reviewed", "routine", req.routine, "allowed", a.verdict.Allowed, "incomplete", a.rules.Incomplete, "error", a.err)
}

// complain says whether it is time for a message that reviews fail.
func (r *Reviewer) complain() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if !r.complained.IsZero() && now.Sub(r.complained) < complaints {
		return false
	}
	r.complained = now
	return true
}
