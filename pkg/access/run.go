package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// nowhere is no namespace, and cannot be one, for its name has a dot. The rules there
// are those of cluster-wide bindings only: what holds in all namespaces.
const nowhere = "ambit.dev"

// errTimeout ends a request that takes too long.
var errTimeout = errors.New("no answer in time")

// Start asks what is to be asked, until ctx ends, and returns when all that it
// started for this user alone has ended. It may be called once; a second call returns an error.
func (r *Reviewer) Start(ctx context.Context) error {
	if !r.markStarted() {
		return errors.New("starting the reviewer: it was started before")
	}
	r.shared.RunUntil(ctx, r.runReviews, r.markEnded)
	return nil
}

func (r *Reviewer) markStarted() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was := r.started
	r.started = true
	return !was
}

// runReviews asks what is to be asked, until ctx ends.
func (r *reviewPool) runReviews(ctx context.Context) {
	r.mu.Lock()
	r.running = 0 // those of earlier users have ended
	r.mu.Unlock()
	var running sync.WaitGroup
	defer running.Wait()
	for {
		r.notifyAll()
		wait := r.sendDue(ctx, &running)
		if wakeup.WaitFor(ctx, r.clock, wait, r.wake); ctx.Err() != nil {
			return
		}
	}
}

// notifyAll tells the subscribers of all keys that have something new.
func (r *reviewPool) notifyAll() {
	for {
		r.mu.Lock()
		if len(r.owed) == 0 {
			r.owed = nil
			r.mu.Unlock()
			return
		}
		p := r.owed[0]
		r.owed = r.owed[1:]
		subs := slices.SortedFunc(maps.Keys(p.subs), func(a, b ChangeHandler) int { return cmp.Compare(p.subs[a].turn, p.subs[b].turn) })
		p.owed, p.untold, p.notify = false, false, p.notify && !p.isResting()
		r.mu.Unlock()
		for _, sub := range subs {
			sub.Changed(p.Key)
		}
	}
}

// sendDue sends all that may be sent now, and returns how long until there may be more;
// negative: not before something happens.
func (r *reviewPool) sendDue(ctx context.Context, running *sync.WaitGroup) time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		now := r.clock.Now()
		if r.running >= together {
			return -1
		}
		due, any := r.schedule.nextDue(r.ceiling.smoothAt())
		if !any {
			return -1
		}
		if due = laterOf(due, r.ceiling.freeAt()); due.After(now) {
			return due.Sub(now)
		}
		p := r.schedule.takeDue(now, r.ceiling.smoothAt())
		r.ceiling.takeTurn(now, p.class)
		r.running++
		req := p.takeRequest(now)
		running.Go(func() { r.reviewPlace(ctx, p, req) })
	}
}

// reviewPlace sends a request and takes the answer in.
func (r *reviewPool) reviewPlace(ctx context.Context, p *reviewState, req reviewRequest) {
	a := r.sendReview(ctx, p.Key, req)
	if ctx.Err() != nil {
		return // the end, not an answer
	}
	r.logAnswer(p.Key, req, a)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running--
	if p.gone {
		r.wakeUp()
		return
	}
	p.settleAnswer(r.clock.Now(), req, a)
	r.scheduleReview(p)
}

// sendReview sends a request.
func (r *reviewPool) sendReview(ctx context.Context, at Key, req reviewRequest) reviewAnswer {
	reviews, err := r.options.Reviews(at.Identity)
	if err != nil {
		return reviewAnswer{err: fmt.Errorf("making the client of %q: %w", at.Identity, err)}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := r.clock.AfterFunc(answerTime, func() { cancel(errTimeout) })
	defer timer.Stop()
	r.probes.Add(1)
	var a reviewAnswer
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

// logAnswer is for people: that reviews fail, now and then, and on V(1) each review.
func (r *reviewPool) logAnswer(at Key, req reviewRequest, a reviewAnswer) {
	logger := r.options.Logger.WithValues("identity", at.Identity, "namespace", at.Namespace)
	if a.err != nil && !a.refusal && r.mayLogError() {
		logger.Info("access reviews fail", "error", a.err.Error())
	}
	if req.fact != nil {
		logger = logger.WithValues("access", req.fact.access)
	}
	logger.V(1).Info("reviewed", "routine", req.routine, "allowed", a.verdict.Allowed, "incomplete", a.rules.Incomplete, "error", a.err)
}

// mayLogError says whether it is time for a message that reviews fail.
func (r *reviewPool) mayLogError() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.clock.Now()
	if !r.complained.IsZero() && now.Sub(r.complained) < complaints {
		return false
	}
	r.complained = now
	return true
}
