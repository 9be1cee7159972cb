package listwatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// How an opening is bounded.
const (
	// slotTime is how long an opening holds its slot at most: slots are there to
	// spread dials, and a server that never answers must not hold up other informers.
	slotTime = 2 * time.Second
	// answerTime is how long an opening may go unanswered before the informer is
	// Degraded.
	answerTime = 5 * time.Second
	// stableTime is how long a watch must have been open for earlier failures to
	// be forgotten.
	stableTime = time.Second
)

var errNoAnswer = errors.New("the API server has not answered for " + answerTime.String())

// Config is what a ListWatcher works for. All but the selectors is required.
type Config struct {
	Source Source
	// Resource is for people.
	Resource string
	// LabelSelector and FieldSelector go into every request.
	LabelSelector, FieldSelector string
	// Fresh: a list is not older than anything that the API server has shown before. The Reflector would take one that
	// lags.
	Fresh bool
	Epoch Epoch
	// Wait returns after d, when ctx ends, or when somebody has reason to try again.
	Wait func(ctx context.Context, d time.Duration)
	// OnFailure is called for each error that does not end the epoch, with no lock held.
	OnFailure func(Failure)
	Logger    logr.Logger
}

// Epoch is one start of an informer. A ListWatcher tells it of answers; it ignores them when
// the informer is in another one.
type Epoch interface {
	// ListAccepted: the API server has answered a list.
	ListAccepted()
	// WatchOpened: a watch is open. With initial it brings a list first.
	WatchOpened(initial bool)
	// Degrade: the API server cannot be reached or is busy, if holds returns true. holds is
	// called while the state cannot change: an answer after it changes the state after this.
	Degrade(reason string, err error, holds func() bool)
}

// Failure is an error that does not end the epoch, and what is done next.
type Failure struct {
	Classification
	// Relist: everything is listed again. Else the request is sent again.
	Relist bool
	// Wait is how long the next attempt waits.
	Wait time.Duration
}

// ListWatcher makes the requests of one epoch, for the Reflector, and reads every
// answer. What passes is tried again here, so that the Reflector neither sleeps
// nor forgets where it was; what is final ends the epoch. It is safe for concurrent use.
type ListWatcher struct {
	factory *Factory
	config  Config
	backoff attemptBackoff
	limit   watchLimit
	calls   callGroup          // list calls, watch proxies and timers
	end     context.CancelFunc // ends RunUntilRefused

	mu      sync.Mutex      // guards what is below
	refusal *Classification // the first final answer
	attempt int             // the one under way, to tell a late timer
}

// NewListWatcher makes the list-watcher of an epoch.
func (f *Factory) NewListWatcher(c Config) *ListWatcher {
	w := &ListWatcher{factory: f, config: c, backoff: attemptBackoff{after: f.options.Reconnect}}
	w.limit.factory, w.limit.calls = f, &w.calls
	return w
}

// RunUntilRefused runs a Reflector until ctx ends or the API server refuses, and returns when all that it
// started has ended: the refusal, nil if there was none. It may be called once.
func (w *ListWatcher) RunUntilRefused(ctx context.Context, store cache.ReflectorStore) *Classification {
	ctx, w.end = context.WithCancel(ctx)
	defer w.end()
	w.runReflector(ctx, store)
	w.calls.closeAndWait()
	return w.refusal
}

// runReflector runs a Reflector until ctx ends. Each round of it begins with a request
// of the list-watcher, which waits after failures.
func (w *ListWatcher) runReflector(ctx context.Context, store cache.ReflectorStore) {
	ctx = logr.NewContext(ctx, w.config.Logger.V(2)) // the Reflector's own words are for developers
	r := cache.NewReflectorWithOptions(
		&cache.ListWatch{ListWithContextFunc: w.listObjects, WatchFuncWithContext: w.watchObjects}, nil, store,
		cache.ReflectorOptions{
			Name: "ambit", TypeDescription: w.config.Resource,
			Clock:   w.factory.options.Clock,
			Backoff: &wait.Backoff{Duration: 1}, // the list-watcher waits, and can be stopped
		})
	for ctx.Err() == nil {
		failures := w.backoff.failureCount()
		if err := r.ListAndWatchWithContext(ctx); err != nil && w.backoff.failureCount() == failures {
			w.config.Logger.V(1).Info("the stream's client failed", "reason", err.Error())
			w.backoff.addFailure(false)
			if ctx.Err() == nil {
				w.reportFailure(Classification{Reason: "UnusableAnswer", Err: err}, true)
			}
		}
	}
}

// ListReceived is called when the store has taken in a complete list.
func (w *ListWatcher) ListReceived() { w.limit.listReceived() }

// LimitOpenWatch limits the watch that is open, if one is, when the Factory reauthorizes.
func (w *ListWatcher) LimitOpenWatch() { w.limit.limitOpenWatch() }

// ExpireWatch makes the watch that is open end soon, or the next one if none is, and opens
// it again where it was.
func (w *ListWatcher) ExpireWatch() { w.limit.expireWatch(true) }

// listObjects is a cache.ListWithContextFunc.
func (w *ListWatcher) listObjects(ctx context.Context, opts metav1.ListOptions) (list runtime.Object, err error) {
	if !w.calls.begin() {
		return nil, context.Canceled
	}
	defer w.calls.done()
	w.addSelectors(&opts)
	if w.config.Fresh && opts.ResourceVersion == "0" {
		opts.ResourceVersion = ""
	}
	err = w.retryUntilAnswered(ctx, false, func() (err error) {
		list, err = w.config.Source.List(ctx, opts)
		return err
	})
	if err == nil {
		w.factory.noteReached()
		w.config.Epoch.ListAccepted()
	}
	return list, err
}

func (w *ListWatcher) addSelectors(opts *metav1.ListOptions) {
	opts.LabelSelector, opts.FieldSelector = w.config.LabelSelector, w.config.FieldSelector
}

// retryUntilAnswered makes attempts until there is an answer for the Reflector.
func (w *ListWatcher) retryUntilAnswered(ctx context.Context, initial bool, call func() error) error {
	for {
		if err := w.waitBeforeAttempt(ctx); err != nil {
			return err
		}
		err := w.attemptOnce(ctx, call)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if initial && refusesInitial(err) {
			w.reportFailure(Classification{Reason: ReasonOf(err), Err: err}, true)
			return err
		}
		v := w.classifyFailure(err)
		if v.Class != Degraded {
			w.reportFailure(v, true)
			return err
		}
		w.reportFailure(v, false)
	}
}

// waitBeforeAttempt waits out the failures so far. The error is that of ctx.
func (w *ListWatcher) waitBeforeAttempt(ctx context.Context) error {
	if delay, waits := w.backoff.beginAttempt(); waits {
		w.config.Wait(ctx, delay)
	}
	return ctx.Err()
}

// attemptOnce makes one attempt. The slot and the wait for an answer are bounded, the
// attempt is not: an API server that never answers holds up this informer only.
func (w *ListWatcher) attemptOnce(ctx context.Context, call func() error) error {
	release, err := w.factory.openSlots.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	attempt := w.nextAttempt()
	clock := w.factory.options.Clock
	defer clock.AfterFunc(slotTime, release).Stop()
	defer clock.AfterFunc(answerTime, func() { w.degradeUnanswered(attempt) }).Stop()
	// A request needs a deep stack; in a goroutine of its own that does not stay
	// with the informer (5 KiB each).
	answered := make(chan error)
	go func() { answered <- call() }()
	err = <-answered
	w.nextAttempt()
	return err
}

// nextAttempt begins or ends an attempt.
func (w *ListWatcher) nextAttempt() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.attempt++
	return w.attempt
}

// degradeUnanswered makes the informer Degraded if an attempt has no answer yet.
func (w *ListWatcher) degradeUnanswered(attempt int) {
	if !w.calls.begin() {
		return
	}
	defer w.calls.done()
	w.config.Epoch.Degrade("NoAnswer", errNoAnswer, func() bool { return w.isUnderWay(attempt) })
}

// isUnderWay reports whether an attempt has not been answered yet.
func (w *ListWatcher) isUnderWay(attempt int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.attempt == attempt
}

// classifyFailure counts and classifies an error that came as an answer or in place of
// one. A final one ends the epoch, one that passes makes the informer Degraded. It does
// not block.
func (w *ListWatcher) classifyFailure(err error) Classification {
	v := Classify(err)
	w.backoff.addFailure(v.Class == Expired)
	switch {
	case v.Class.IsFinal():
		w.recordRefusal(v)
	case v.Class == Degraded:
		w.config.Epoch.Degrade(v.Reason, err, func() bool { return true })
	}
	if isUnreachable(err) {
		w.factory.noteUnreachable()
	} else {
		w.factory.noteReached()
	}
	return v
}

// recordRefusal ends the epoch by a final answer.
func (w *ListWatcher) recordRefusal(v Classification) {
	w.mu.Lock()
	if w.refusal == nil {
		w.refusal = &v
	}
	w.mu.Unlock()
	w.end()
}

// reportFailure reports an error that does not end the epoch: whoever runs the list-watcher
// gets the one that does.
func (w *ListWatcher) reportFailure(v Classification, relist bool) {
	if !v.Class.IsFinal() {
		w.config.OnFailure(Failure{Classification: v, Relist: relist, Wait: w.backoff.nextDelay()})
	}
}

// callGroup waits for what a list-watcher has started.
type callGroup struct {
	mu      sync.Mutex
	closed  bool
	running sync.WaitGroup // Add only under mu and before closed
}

// begin counts a call as running, which ends with done, unless the group is closed.
func (g *callGroup) begin() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	g.running.Add(1)
	return true
}

func (g *callGroup) done() { g.running.Done() }

// closeAndWait lets no call begin any more, and waits for those that have.
func (g *callGroup) closeAndWait() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.running.Wait()
}
