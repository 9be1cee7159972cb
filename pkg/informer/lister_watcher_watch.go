package informer

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watch is a cache.WatchFuncWithContext.
func (o *listerWatcher) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	o.informer.addSelectors(&opts)
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	var t *watchProxy
	err := o.retryUntilAnswered(ctx, initial, func() (err error) {
		t, err = o.openProxy(ctx, opts, initial)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !o.beginCall() {
		t.Stop()
		o.informer.set.reopenSchedule.forgetEnd(t.endsAt)
		return nil, context.Canceled
	}
	o.informer.watchOpened(o.epoch, initial)
	o.runProxy(t, initial)
	return t, nil
}

// openProxy makes one attempt to open a watch.
func (o *listerWatcher) openProxy(ctx context.Context, opts metav1.ListOptions, initial bool) (*watchProxy, error) {
	due := o.limitWatch(&opts, initial)
	w, err := o.source.Watch(ctx, opts)
	if err != nil {
		o.informer.set.reopenSchedule.forgetEnd(due)
		return nil, err
	}
	t := newWatchProxy(w)
	if t.hasEnded() {
		w.Stop()
		o.informer.set.reopenSchedule.forgetEnd(due)
		return nil, errEnded
	}
	t.endsAt = due
	return t, nil
}

// runProxy runs the watchProxy of an open watch; the caller has entered.
func (o *listerWatcher) runProxy(t *watchProxy, initial bool) {
	o.setOpenWatch(t, initial)
	since := o.informer.now()
	go func() {
		defer o.running.Done()
		failed := false
		t.forward(func(err error) bool {
			failed = true
			o.forgetFailures(since)
			return o.watchFailed(err)
		}, func() {
			o.watchEnded(t)
			if !failed && !o.forgetFailures(since) {
				o.countFailure(false)
			}
		})
	}()
}

// watchFailed handles an error inside a watch, and reports whether the Reflector has to
// hear it. An error that passes is kept from the Reflector, which would ask for a whole
// list: the watch is opened again where it was. At the second failure in a row the
// Reflector hears it, because the next event itself may be the cause.
func (o *listerWatcher) watchFailed(err error) (pass bool) {
	v := o.classifyFailure(err)
	pass = v.state != Degraded || o.failureCount() > 1
	action := ActionRelist
	if !pass || apierrors.IsTooManyRequests(err) { // the Reflector goes on after a 429
		action = ActionRetry
	}
	o.reportError(v, action)
	return pass
}
