package informer

import (
	"context"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// opener makes the requests of one epoch, for the Reflector, and reads every
// answer. What passes is tried again here, so that the Reflector neither sleeps
// nor forgets where it was; what is final ends the epoch.
type opener struct {
	stream *stream
	source source
	epoch  uint64
	end    context.CancelFunc // ends the epoch

	running sync.WaitGroup // list calls, taps and timers; Add only under mu and before closed

	mu       sync.Mutex // guards what is below
	closed   bool
	verdict  *verdict      // the first final answer
	failures int           // in a row
	wait     time.Duration // before the next attempt, unless that is free
	free     bool          // the next attempt need not wait
	attempt  int           // the one under way, to tell a late timer
	tap      *tap          // of the watch that is open, nil if none is
	listing  bool          // that watch brings a list first, which is not in yet
	watched  bool          // a watch has been open
	doubted  bool          // the next watch is to be rechecked
}

// list is a cache.ListWithContextFunc.
func (o *opener) list(ctx context.Context, opts metav1.ListOptions) (list runtime.Object, err error) {
	if !o.enter() {
		return nil, context.Canceled
	}
	defer o.running.Done()
	o.stream.selectors(&opts)
	err = o.try(ctx, false, func() (err error) {
		list, err = o.source.List(ctx, opts)
		return err
	})
	if err == nil {
		o.stream.accepted(o.epoch)
	}
	return list, err
}

// try makes attempts until there is an answer for the Reflector.
func (o *opener) try(ctx context.Context, initial bool, call func() error) error {
	for {
		if err := o.pause(ctx); err != nil {
			return err
		}
		err := o.once(ctx, call)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if initial && refusesInitial(err) {
			o.report(verdict{reason: reasonOf(err), err: err}, ActionRelist)
			return err
		}
		v := o.heard(err)
		if v.state != Degraded {
			o.report(v, ActionRelist)
			return err
		}
		o.report(v, ActionRetry)
	}
}

// once makes one attempt. The slot and the wait for an answer are bounded, the
// attempt is not: an API server that never answers holds up this stream only.
func (o *opener) once(ctx context.Context, call func() error) error {
	release, err := o.stream.owner.slots.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	attempt := o.next()
	clock := o.stream.owner.options.Clock
	defer clock.AfterFunc(slotTime, release).Stop()
	defer clock.AfterFunc(answerTime, func() { o.late(attempt) }).Stop()
	// A request needs a deep stack; in a goroutine of its own that does not stay
	// with the stream (5 KiB each).
	answered := make(chan error)
	go func() { answered <- call() }()
	err = <-answered
	o.next()
	return err
}

// next begins or ends an attempt.
func (o *opener) next() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempt++
	return o.attempt
}

// late is called when an attempt takes long.
func (o *opener) late(attempt int) {
	if !o.enter() {
		return
	}
	defer o.running.Done()
	o.stream.degradeIf(o.epoch, func() bool { return o.isUnderWay(attempt) }, "NoAnswer", errNoAnswer)
}

// isUnderWay says whether an attempt has not been answered yet.
func (o *opener) isUnderWay(attempt int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attempt == attempt
}

// heard takes in an error that the API server answered with, or that came instead
// of an answer. It does not block.
func (o *opener) heard(err error) verdict {
	v := classify(err)
	o.fail(v.state == "")
	o.mu.Lock()
	if v.state.Final() && o.verdict == nil {
		o.verdict = &v
	}
	o.mu.Unlock()
	switch {
	case v.state.Final():
		o.end()
	case v.state == Degraded:
		o.stream.degrade(o.epoch, v.reason, err)
	}
	o.reached(err)
	return v
}

// reached notes whether an error came from the API server or from the way there.
func (o *opener) reached(err error) {
	if unreachable(err) {
		o.stream.owner.unreachable()
		return
	}
	o.stream.owner.reached()
}

// fail counts a failure, and says how long to wait before the next attempt. With
// mayBeFree that need not wait if this is the first failure.
func (o *opener) fail(mayBeFree bool) {
	failures := o.count() + 1
	wait := o.stream.owner.options.Reconnect(failures) // not under the lock: it is not ours
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures, o.wait, o.free = failures, wait, mayBeFree && failures == 1
}

// delay is how long the next attempt waits.
func (o *opener) delay() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures == 0 || o.free {
		return 0
	}
	return o.wait
}

// settle forgets failures if a watch was open long enough.
func (o *opener) settle(since time.Time) bool {
	if o.stream.now().Sub(since) < stableTime {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = 0
	return true
}

// pause waits out the failures so far. Retry ends the wait. The error is that of
// ctx.
func (o *opener) pause(ctx context.Context) error {
	o.mu.Lock()
	waits, wait := o.failures > 0 && !o.free, o.wait
	o.free = false
	o.mu.Unlock()
	if waits {
		o.stream.wait(ctx, wait)
	}
	return ctx.Err()
}

func (o *opener) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures
}

// enter counts a call or tap as running, unless the epoch is over.
func (o *opener) enter() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.running.Add(1)
	return true
}

// close waits for everything that the opener started, and returns the final
// answer, nil if there was none.
func (o *opener) close() *verdict {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.running.Wait()
	return o.verdict
}
