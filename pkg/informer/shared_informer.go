package informer

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/informer/handlerindex"
	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
	"github.com/ambit-dev/ambit/pkg/informer/projection"
)

// sharedInformer is the informer of one key and one Storage, or of package objectstore. Its stream feeds it.
type sharedInformer struct {
	key        Key
	env        *environment
	projection *projection.Projection
	storage    Storage // nil: store has the objects
	selector   objectstore.Selector
	isolated   atomic.Bool // it shares its stream with nobody any more

	mu          sync.RWMutex // guards what is below; never held over I/O or a handler's call
	stream      *stream
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
		Secrets: need.Storage == nil && need.Key.GVR == schema.GroupVersionResource{Version: "v1", Resource: "secrets"},
	})
	return &sharedInformer{
		key: need.Key, env: env, storage: need.Storage,
		projection: form,
		selector:   objectstore.NewSelector(need.Key.Namespace, need.Key.LabelSelector, need.Key.FieldSelector),
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

// stopInformer ends the informer for good, and drops all that it holds.
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

func (st *sharedInformer) hasStopped() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.stopped
}

// setStream says by which stream the informer is fed.
func (st *sharedInformer) setStream(s *stream) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.stream = s
}

func (st *sharedInformer) currentStream() *stream {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.stream
}

// enterEpoch begins an epoch, and returns its number. A refused informer keeps its state until
// there is another answer: its handlers see no flapping. An epoch that continues another one is the same to an
// informer that was in that.
func (st *sharedInformer) enterEpoch(continues bool) uint64 {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.watchOpen = false
	if continues && st.status.Epoch != 0 {
		return st.status.Epoch
	}
	st.hasBeenLive = false
	if !st.stopped {
		st.status.Epoch = st.env.epochs.Add(1)
	}
	return st.status.Epoch
}

// wasLive reports whether the informer is or was Live in its epoch, the last one that
// began.
func (st *sharedInformer) wasLive() bool {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return st.hasBeenLive
}

// wakeUp ends the wait of its stream.
func (st *sharedInformer) wakeUp() {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if st.status.State != Live && !st.stopped && st.stream != nil {
		st.stream.wakeUp()
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

// fitProjection drops shared parts that no object has any more; mu is held. Before the
// first list the number of objects is not known, and nothing is dropped.
func (st *sharedInformer) fitProjection() {
	if st.store.IsSynced() {
		st.projection.FitTo(st.store.ObjectCount())
	}
}
