package informer

import (
	"context"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/pkg/informer/handlerindex"
	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/informer/projection"
)

// sharedInformer is the informer of one key. Its own goroutine executes run; all other
// callers take mu.
type sharedInformer struct {
	key        Key
	env        *environment
	projection *projection.Projection
	storage    Storage // nil: store has the objects
	selector   objectstore.Selector
	woken      chan struct{} // holds at most one; ends a wait

	mu          sync.RWMutex           // guards what is below; never held over I/O or a handler's call
	cancel      context.CancelFunc     // nil until the goroutine runs
	endEpoch    context.CancelFunc     // ends the last epoch that began; nil before the first
	listWatcher *listwatch.ListWatcher // of the last epoch that got as far
	stopped     bool
	watchOpen   bool // the last watch was opened, and no failure was heard since
	hasBeenLive bool // the informer was Live in its epoch
	status      Status
	store       *objectstore.Store
	handlers    handlerindex.Index[EventHandler]
	holds       []*eventHold // of writes under way
}

func newSharedInformer(env *environment, need Interest) *sharedInformer {
	form := env.forms.New(projection.Config{
		Fields: need.Fields, Manager: need.Key.Form.Manager,
		APIVersion: need.Key.GVR.GroupVersion().String(), Kind: need.Kind,
	})
	return &sharedInformer{
		key: need.Key, env: env, storage: need.Storage,
		projection: form,
		selector:   objectstore.NewSelector(need.Key.Namespace, need.Key.LabelSelector, need.Key.FieldSelector),
		woken:      make(chan struct{}, 1),
		status:     Status{State: Probing, Since: env.options.Clock.Now()},
		store:      objectstore.New(need.Key.Form.Versions, form),
	}
}

func (st *sharedInformer) currentTime() time.Time { return st.env.options.Clock.Now() }

func (st *sharedInformer) addHandler(sub EventHandler, p objectstore.Subset) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.handlers.Add(sub, p)
	if p.Label != "" {
		st.store.IndexLabel(p.Label)
	}
}

// removeHandler returns how many needs are left.
func (st *sharedInformer) removeHandler(sub EventHandler, p objectstore.Subset) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.handlers.Remove(sub, p)
	if !st.handlers.HasLabel(p.Label) {
		st.store.DropIndex(p.Label)
	}
	return st.handlers.Needs()
}

// stopInformer ends the informer for good, and drops all that it holds. Its goroutine ends
// by itself.
func (st *sharedInformer) stopInformer() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stopped {
		return
	}
	st.stopped = true
	st.store = objectstore.New(st.key.Form.Versions, st.projection)
	st.projection.Release()
	st.status = Status{State: Stopped, Since: st.currentTime(), Epoch: st.status.Epoch}
	st.dropStorage()
	if st.cancel != nil {
		st.cancel()
	}
}

func (st *sharedInformer) keyStatus() KeyStatus {
	st.mu.RLock()
	defer st.mu.RUnlock()
	status := KeyStatus{
		Key: st.key, Status: st.status,
		Objects: st.store.ObjectCount(), Bytes: st.store.EstimateBytes(), Needs: st.handlers.Needs(),
	}
	if st.storage != nil {
		status.Objects = st.storage.ObjectCount()
	}
	return status
}

// wakeUp ends the informer's wait, or the next one if an attempt is under way: its
// answer may be older than the hint.
func (st *sharedInformer) wakeUp() {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if st.status.State == Live || st.stopped {
		return
	}
	select {
	case st.woken <- struct{}{}:
	default: // one is enough
	}
}

func (st *sharedInformer) wakeIfDegraded() {
	st.mu.RLock()
	degraded := st.status.State == Degraded
	st.mu.RUnlock()
	if degraded {
		st.wakeUp()
	}
}

// waitOrWake returns after d, on a wake-up, or when ctx ends.
func (st *sharedInformer) waitOrWake(ctx context.Context, d time.Duration) {
	timer := st.env.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-st.woken:
		if ctx.Err() != nil {
			st.wakeUp() // for the next epoch
		}
	case <-ctx.Done():
	}
}

// fitProjection drops shared parts that no object has any more; mu is held. Before the
// first list the number of objects is not known, and nothing is dropped.
func (st *sharedInformer) fitProjection() {
	if st.store.IsSynced() {
		st.projection.FitTo(st.store.ObjectCount())
	}
}
