package listwatch

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watchObjects is a cache.WatchFuncWithContext.
func (w *ListWatcher) watchObjects(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	w.addSelectors(&opts)
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	var t *watchProxy
	err := w.retryUntilAnswered(ctx, initial, func() (err error) {
		t, err = w.openProxy(ctx, opts, initial)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !w.calls.begin() {
		t.Stop()
		w.factory.reopenSchedule.forgetEnd(t.endsAt)
		return nil, context.Canceled
	}
	w.factory.noteReached()
	w.config.Epoch.WatchOpened(initial)
	w.runProxy(t, initial)
	return t, nil
}

// openProxy makes one attempt to open a watch.
func (w *ListWatcher) openProxy(ctx context.Context, opts metav1.ListOptions, initial bool) (*watchProxy, error) {
	due := w.limit.limitRequest(&opts, initial)
	inner, err := w.config.Source.Watch(ctx, opts)
	if err != nil {
		w.factory.reopenSchedule.forgetEnd(due)
		return nil, err
	}
	t := newWatchProxy(inner)
	if t.hasEnded() {
		inner.Stop()
		w.factory.reopenSchedule.forgetEnd(due)
		return nil, errEnded
	}
	t.endsAt = due
	return t, nil
}

// runProxy runs the watchProxy of an open watch; the caller has entered.
func (w *ListWatcher) runProxy(t *watchProxy, initial bool) {
	w.limit.watchOpened(t, initial)
	since := w.factory.options.Clock.Now()
	go func() {
		defer w.calls.done()
		failed := false
		t.forward(func(err error) bool {
			failed = true
			w.forgetFailures(since)
			return w.watchFailed(err)
		}, func() {
			w.limit.watchEnded(t)
			if !failed && !w.forgetFailures(since) {
				w.backoff.addFailure(false)
			}
		})
	}()
}

// watchFailed handles an error inside a watch, and reports whether the Reflector has to
// hear it. An error that passes is kept from the Reflector, which would ask for a whole
// list: the watch is opened again where it was. At the second failure in a row the
// Reflector hears it, because the next event itself may be the cause.
func (w *ListWatcher) watchFailed(err error) (pass bool) {
	v := w.classifyFailure(err)
	pass = v.Class != Degraded || w.backoff.failureCount() > 1
	retries := !pass || apierrors.IsTooManyRequests(err) // the Reflector goes on after a 429
	w.reportFailure(v, !retries)
	return pass
}

// forgetFailures forgets failures if a watch was open long enough.
func (w *ListWatcher) forgetFailures(since time.Time) bool {
	if w.factory.options.Clock.Since(since) < stableTime {
		return false
	}
	w.backoff.forgetFailures()
	return true
}
