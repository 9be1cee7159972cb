package informer

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// watch is a cache.WatchFuncWithContext.
func (o *opener) watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	o.stream.selectors(&opts)
	initial := opts.SendInitialEvents != nil && *opts.SendInitialEvents
	var t *tap
	err := o.try(ctx, initial, func() (err error) {
		t, err = o.open(ctx, opts, initial)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !o.enter() {
		t.Stop()
		o.stream.owner.reopens.done(t.due)
		return nil, context.Canceled
	}
	o.stream.opened(o.epoch, initial)
	o.listen(t, initial)
	return t, nil
}

// open makes one attempt.
func (o *opener) open(ctx context.Context, opts metav1.ListOptions, initial bool) (*tap, error) {
	due := o.limit(&opts, initial)
	w, err := o.source.Watch(ctx, opts)
	if err != nil {
		o.stream.owner.reopens.done(due)
		return nil, err
	}
	t := newTap(w)
	if t.peek() {
		w.Stop()
		o.stream.owner.reopens.done(due)
		return nil, errEnded
	}
	t.due = due
	return t, nil
}

// listen runs the tap of an open watch; the caller has entered.
func (o *opener) listen(t *tap, initial bool) {
	o.hold(t, initial)
	since := o.stream.now()
	go func() {
		defer o.running.Done()
		failed := false
		t.run(func(err error) bool {
			failed = true
			o.settle(since)
			return o.broke(err)
		}, func() {
			o.letGo(t)
			if !failed && !o.settle(since) {
				o.fail(false)
			}
		})
	}()
}

// broke takes in an error inside a watch, and says whether the Reflector is to
// hear it. What passes is kept from it, for it would ask for a whole list: the
// watch goes on where it was. Unless that failed before: what the error is about
// may be what is next.
func (o *opener) broke(err error) (pass bool) {
	v := o.heard(err)
	pass = v.state != Degraded || o.count() > 1
	action := ActionRelist
	if !pass || apierrors.IsTooManyRequests(err) { // the Reflector goes on after a 429
		action = ActionRetry
	}
	o.report(v, action)
	return pass
}
