package informer

import (
	"context"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
)

// run is the informer's goroutine: epoch after epoch until ctx ends or the informer
// is stopped.
func (st *sharedInformer) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer st.stop()
	if !st.setCancel(cancel) {
		return
	}
	refusals := 0
	for ctx.Err() == nil {
		epoch, v := st.runEpoch(ctx)
		if ctx.Err() != nil {
			return
		}
		if st.wasLive() {
			refusals = 0
		}
		refusals++
		st.closeEpoch(epoch, v)
		wait := st.epochBackoff(v, refusals)
		st.reportClosed(v, wait)
		st.waitOrWake(ctx, wait)
	}
}

func (st *sharedInformer) setCancel(cancel context.CancelFunc) bool {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.cancel = cancel
	return !st.stopped
}

// runEpoch runs one epoch. It returns the number of the epoch and what ended it. After
// the end of ctx both mean nothing.
func (st *sharedInformer) runEpoch(ctx context.Context) (uint64, classification) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	epoch := st.beginEpoch(end)
	from, err := st.set.connect(st.key)
	if err != nil {
		return epoch, classification{state: Degraded, reason: "NoClient", err: err}
	}
	o := &listerWatcher{informer: st, source: from, epoch: epoch, endEpoch: end}
	st.setListerWatcher(o)
	st.runReflector(ctx, o)
	if v := o.closeAndWait(); v != nil {
		return epoch, *v
	}
	return epoch, classification{state: Forbidden} // by revoke
}

// setListerWatcher sets the listerWatcher of the present epoch.
func (st *sharedInformer) setListerWatcher(o *listerWatcher) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.listerWatcher = o
}

// runReflector runs a Reflector until ctx ends. Each round of it begins with a request
// through the listerWatcher, which waits after failures.
func (st *sharedInformer) runReflector(ctx context.Context, o *listerWatcher) {
	log := st.set.options.Logger.WithValues("stream", st.key.String())
	ctx = logr.NewContext(ctx, log.V(2)) // the Reflector's own words are for developers
	r := cache.NewReflectorWithOptions(
		&cache.ListWatch{ListWithContextFunc: o.list, WatchFuncWithContext: o.watch},
		nil, reflectorStore{informer: st, epoch: o.epoch, listerWatcher: o},
		cache.ReflectorOptions{
			Name: "ambit", TypeDescription: st.key.GVR.Resource,
			Clock:   st.set.options.Clock,
			Backoff: &wait.Backoff{Duration: 1}, // the listerWatcher waits, and can be stopped
		})
	for ctx.Err() == nil {
		failures := o.failureCount()
		if err := r.ListAndWatchWithContext(ctx); err != nil && o.failureCount() == failures {
			log.V(1).Info("the stream's client failed", "reason", err.Error())
			o.countFailure(false)
			if ctx.Err() == nil {
				o.reportError(classification{reason: "UnusableAnswer", err: err}, ActionRelist)
			}
		}
	}
}
