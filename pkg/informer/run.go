package informer

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// run is the stream's goroutine: epoch after epoch until ctx ends or the stream
// is stopped.
func (st *stream) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer st.stop()
	if !st.launch(cancel) {
		return
	}
	refusals := 0
	for ctx.Err() == nil {
		epoch, v := st.follow(ctx)
		if ctx.Err() != nil {
			return
		}
		if st.wasLive() {
			refusals = 0
		}
		refusals++
		st.refuse(epoch, v)
		wait := st.backoff(v, refusals)
		st.reportClosed(v, wait)
		st.wait(ctx, wait)
	}
}

func (st *stream) launch(cancel context.CancelFunc) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.cancel = cancel
	return !st.stopped
}

// follow is one epoch. It returns its number and what ended it; after the end of
// ctx they mean nothing.
func (st *stream) follow(ctx context.Context) (uint64, verdict) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	epoch := st.begin(end)
	from, err := st.owner.connect(st.key)
	if err != nil {
		return epoch, verdict{state: Degraded, reason: "NoClient", err: err}
	}
	o := &opener{stream: st, source: from, epoch: epoch, end: end}
	st.use(o)
	st.reflect(ctx, o)
	if v := o.close(); v != nil {
		return epoch, *v
	}
	return epoch, verdict{state: Forbidden} // by revoke
}

// use notes who opens in this epoch.
func (st *stream) use(o *opener) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.opener = o
}

// reflect runs a Reflector until ctx ends. Each round of it begins with a request
// through the opener, which waits after failures.
func (st *stream) reflect(ctx context.Context, o *opener) {
	log := st.owner.options.Logger.WithValues("stream", st.key.String())
	ctx = logr.NewContext(ctx, log.V(2)) // the Reflector's own words are for developers
	r := cache.NewReflectorWithOptions(
		&cache.ListWatch{ListWithContextFunc: o.list, WatchFuncWithContext: o.watch},
		nil, sink{stream: st, epoch: o.epoch, opener: o},
		cache.ReflectorOptions{
			Name: "ambit", TypeDescription: st.key.GVR.Resource,
			Clock:   st.owner.options.Clock,
			Backoff: &wait.Backoff{Duration: 1}, // the opener waits, and can be stopped
		})
	for ctx.Err() == nil {
		failures := o.count()
		if err := r.ListAndWatchWithContext(ctx); err != nil && o.count() == failures {
			log.V(1).Info("the stream's client failed", "reason", err.Error())
			o.fail(false)
			if ctx.Err() == nil {
				o.report(verdict{reason: "UnusableAnswer", err: err}, ActionRelist)
			}
		}
	}
}
