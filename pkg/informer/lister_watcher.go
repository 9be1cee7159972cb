package informer

import (
	"context"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
)

// listerWatcher makes the requests of one epoch, for the Reflector, and reads every
// answer. What passes is tried again here, so that the Reflector neither sleeps
// nor forgets where it was; what is final ends the epoch.
type listerWatcher struct {
	informer *sharedInformer
	source   objectSource
	epoch    uint64
	endEpoch context.CancelFunc // ends the epoch

	running sync.WaitGroup // list calls, watchProxies and timers; Add only under mu and before closed

	mu             sync.Mutex // guards what is below
	closed         bool
	classification *classification // the first final answer
	failures       int             // in a row
	retryDelay     time.Duration   // before the next attempt, unless retryAtOnce
	retryAtOnce    bool            // the next attempt need not wait
	attempt        int             // the one under way, to tell a late timer
	proxy          *watchProxy     // of the watch that is open, nil if none is
	listPending    bool            // that watch brings a list first, which is not in yet
	hasWatched     bool            // a watch has been open
	expirePending  bool            // the next watch is to be expired
}

// list is a cache.ListWithContextFunc.
func (o *listerWatcher) list(ctx context.Context, opts metav1.ListOptions) (list runtime.Object, err error) {
	if !o.beginCall() {
		return nil, context.Canceled
	}
	defer o.running.Done()
	o.informer.addSelectors(&opts)
	err = o.retryUntilAnswered(ctx, false, func() (err error) {
		list, err = o.source.List(ctx, opts)
		return err
	})
	if err == nil {
		o.informer.listAccepted(o.epoch)
	}
	return list, err
}

// retryUntilAnswered makes attempts until there is an answer for the Reflector.
func (o *listerWatcher) retryUntilAnswered(ctx context.Context, initial bool, call func() error) error {
	for {
		if err := o.waitBeforeAttempt(ctx); err != nil {
			return err
		}
		err := o.attemptOnce(ctx, call)
		if err == nil || ctx.Err() != nil {
			return err
		}
		if initial && refusesInitial(err) {
			o.reportError(classification{reason: reasonOf(err), err: err}, ActionRelist)
			return err
		}
		v := o.classifyFailure(err)
		if v.state != Degraded {
			o.reportError(v, ActionRelist)
			return err
		}
		o.reportError(v, ActionRetry)
	}
}

// attemptOnce makes one attempt. The slot and the wait for an answer are bounded, the
// attempt is not: an API server that never answers holds up this informer only.
func (o *listerWatcher) attemptOnce(ctx context.Context, call func() error) error {
	release, err := o.informer.set.openSlots.acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	attempt := o.nextAttempt()
	clock := o.informer.set.options.Clock
	defer clock.AfterFunc(slotTime, release).Stop()
	defer clock.AfterFunc(answerTime, func() { o.degradeUnanswered(attempt) }).Stop()
	// A request needs a deep stack; in a goroutine of its own that does not stay
	// with the informer (5 KiB each).
	answered := make(chan error)
	go func() { answered <- call() }()
	err = <-answered
	o.nextAttempt()
	return err
}

// nextAttempt begins or ends an attempt.
func (o *listerWatcher) nextAttempt() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.attempt++
	return o.attempt
}

// degradeUnanswered makes the informer Degraded if an attempt has no answer yet.
func (o *listerWatcher) degradeUnanswered(attempt int) {
	if !o.beginCall() {
		return
	}
	defer o.running.Done()
	o.informer.degradeIf(o.epoch, func() bool { return o.isUnderWay(attempt) }, "NoAnswer", errNoAnswer)
}

// isUnderWay reports whether an attempt has not been answered yet.
func (o *listerWatcher) isUnderWay(attempt int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.attempt == attempt
}

// classifyFailure counts and classifies an error that came as an answer or in place of
// one. A final one ends the epoch, one that passes makes the informer Degraded. It does
// not block.
func (o *listerWatcher) classifyFailure(err error) classification {
	v := classify(err)
	o.countFailure(v.state == "")
	o.mu.Lock()
	if v.state.Final() && o.classification == nil {
		o.classification = &v
	}
	o.mu.Unlock()
	switch {
	case v.state.Final():
		o.endEpoch()
	case v.state == Degraded:
		o.informer.degrade(o.epoch, v.reason, err)
	}
	o.noteReachability(err)
	return v
}

// noteReachability tells the Set whether an error came from the API server or from the way
// there.
func (o *listerWatcher) noteReachability(err error) {
	if isUnreachable(err) {
		o.informer.set.noteUnreachable()
		return
	}
	o.informer.set.noteReached()
}

// countFailure counts a failure and decides how long the next attempt waits. With
// mayBeFree it does not wait if this is the first failure.
func (o *listerWatcher) countFailure(mayBeFree bool) {
	o.mu.Lock()
	o.failures++
	failures := o.failures
	o.retryAtOnce = mayBeFree && failures == 1
	o.mu.Unlock()
	wait := o.informer.set.options.Reconnect(failures) // not under the lock: it is not ours
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures == failures { // else another failure decides, or there is none to wait for
		o.retryDelay = wait
	}
}

// nextDelay returns how long the next attempt waits.
func (o *listerWatcher) nextDelay() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.failures == 0 || o.retryAtOnce {
		return 0
	}
	return o.retryDelay
}

// forgetFailures forgets failures if a watch was open long enough.
func (o *listerWatcher) forgetFailures(since time.Time) bool {
	if o.informer.now().Sub(since) < stableTime {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.failures = 0
	return true
}

// waitBeforeAttempt waits out the failures so far. Retry ends the wait. The error is that of
// ctx.
func (o *listerWatcher) waitBeforeAttempt(ctx context.Context) error {
	o.mu.Lock()
	waits, wait := o.failures > 0 && !o.retryAtOnce, o.retryDelay
	o.retryAtOnce = false
	o.mu.Unlock()
	if waits {
		o.informer.waitOrWake(ctx, wait)
	}
	return ctx.Err()
}

func (o *listerWatcher) failureCount() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failures
}

// beginCall counts a call or watchProxy as running, unless the epoch is over.
func (o *listerWatcher) beginCall() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return false
	}
	o.running.Add(1)
	return true
}

// closeAndWait waits for everything that the listerWatcher started, and returns the final
// answer, nil if there was none.
func (o *listerWatcher) closeAndWait() *classification {
	o.mu.Lock()
	o.closed = true
	o.mu.Unlock()
	o.running.Wait()
	return o.classification
}

// semaphore bounds how many informers are in the middle of being opened: opening
// thousands at once makes thousands of connections. One element is one slot
// taken.
type semaphore chan struct{}

// acquire takes a slot; release gives it back and may be called more than once.
// The error is that of ctx.
func (s semaphore) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// objectSource lists and watches the objects of a key. Calls end when ctx does; a watch
// lives as long as ctx.
type objectSource interface {
	List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error)
	Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error)
}

// connectSource makes the objectSource of a key from the clients of its identity.
func connectSource(clients func(string) (dynamic.Interface, metadata.Interface, error), key Key) (objectSource, error) {
	objects, meta, err := clients(key.Identity)
	if err != nil {
		return nil, fmt.Errorf("making clients for %q: %w", key.Identity, err)
	}
	if key.Form.Metadata {
		return metadataSource{meta.Resource(key.GVR).Namespace(key.Namespace)}, nil
	}
	return dynamicSource{objects.Resource(key.GVR).Namespace(key.Namespace)}, nil
}

type dynamicSource struct{ dynamic.ResourceInterface }

func (s dynamicSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ResourceInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}

type metadataSource struct{ metadata.ResourceInterface }

func (s metadataSource) List(ctx context.Context, opts metav1.ListOptions) (runtime.Object, error) {
	list, err := s.ResourceInterface.List(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}
