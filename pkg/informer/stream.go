package informer

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// stream is one informer. Its goroutine is run; everybody else takes mu.
type stream struct {
	key     Key
	owner   *Set
	project projector
	shared  *interner
	belongs selector
	poked   chan struct{} // holds at most one; ends a wait

	mu      sync.RWMutex       // guards what is below; never held over I/O or a subscriber's call
	cancel  context.CancelFunc // nil until the goroutine runs
	end     context.CancelFunc // ends the last epoch that began; nil before the first
	opener  *opener            // of the last epoch that got as far
	stopped bool
	open    bool // the last watch was opened, and no failure was heard since
	lived   bool // the stream was Live in its epoch
	status  Status
	store   store
	routes  routes
}

var errNoAnswer = errors.New("the API server has not answered for " + answerTime.String())

func newStream(owner *Set, need Interest) *stream {
	return &stream{
		key: need.Key, owner: owner,
		project: newProjector(need),
		shared:  newInterner(),
		belongs: newSelector(need.Key),
		poked:   make(chan struct{}, 1),
		status:  Status{State: Probing, Since: owner.options.Clock.Now()},
		store:   store{versions: need.Key.Form.Versions},
	}
}

func (st *stream) now() time.Time { return st.owner.options.Clock.Now() }

func (st *stream) subscribe(sub EventHandler, p part) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.routes.add(sub, p, st.key.Namespace)
	if p.label != "" {
		st.store.indexBy(p.label)
	}
}

// unsubscribe returns how many needs are left.
func (st *stream) unsubscribe(sub EventHandler, p part) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.routes.remove(sub, p, st.key.Namespace)
	if _, ok := st.routes.byLabel[p.label]; !ok {
		delete(st.store.index, p.label)
	}
	return st.routes.count
}

// stop ends the stream for good, and drops all that it holds. Its goroutine ends
// by itself.
func (st *stream) stop() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if st.stopped {
		return
	}
	st.stopped = true
	st.store = store{}
	st.status = Status{State: Stopped, Since: st.now(), Epoch: st.status.Epoch}
	if st.cancel != nil {
		st.cancel()
	}
}

func (st *stream) describe() KeyStatus {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return KeyStatus{
		Key: st.key, Status: st.status,
		Objects: len(st.store.objects), Bytes: st.store.size(), Needs: st.routes.count,
	}
}

// poke ends the stream's wait, or the next one if an attempt is under way: its
// answer may be older than the hint.
func (st *stream) poke() {
	st.mu.RLock()
	defer st.mu.RUnlock()
	if st.status.State == Live || st.stopped {
		return
	}
	select {
	case st.poked <- struct{}{}:
	default: // one is enough
	}
}

func (st *stream) pokeDegraded() {
	st.mu.RLock()
	degraded := st.status.State == Degraded
	st.mu.RUnlock()
	if degraded {
		st.poke()
	}
}

// wait returns after d, on a poke, or when ctx ends.
func (st *stream) wait(ctx context.Context, d time.Duration) {
	timer := st.owner.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-st.poked:
		if ctx.Err() != nil {
			st.poke() // for the next epoch
		}
	case <-ctx.Done():
	}
}

// passed lets the sink of an epoch move the stream on.
func (st *stream) passed(epoch uint64, resourceVersion string) {
	st.mu.Lock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.Unlock()
		return
	}
	changes := st.store.pass(resourceVersion)
	st.mu.Unlock()
	for _, c := range changes {
		st.tell(epoch, c, nil)
	}
}

// change lets the sink of an epoch change the store, and tells it.
func (st *stream) change(epoch uint64, do func(*store) change) {
	st.mu.Lock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.Unlock()
		return
	}
	c := do(&st.store)
	st.fit()
	st.mu.Unlock()
	st.tell(epoch, c, nil)
}

// fit lets go of parts that are in no object any more; mu is held. While a list is on
// its way the store does not say how many objects there will be.
func (st *stream) fit() {
	if st.store.synced {
		st.shared.fit(len(st.store.objects))
	}
}

// keep makes of what a client delivered what the store has of it.
func (st *stream) keep(obj any) (*unstructured.Unstructured, error) {
	if done, ok := obj.(projected); ok {
		return done.Unstructured, nil
	}
	object, err := st.project.object(obj)
	if err != nil {
		return nil, err
	}
	object = object.DeepCopy() // decoded maps and lists have room to grow; these do not
	st.shared.object(object)
	return object, nil
}

func (st *stream) observe(obj *unstructured.Unstructured, by []EventHandler) {
	object := st.project.project(obj).DeepCopy() // obj stays the caller's
	st.shared.object(object)
	belongs := st.belongs.check(obj)
	st.own(func(s *store) change { return s.observe(object, belongs) }, by)
}

func (st *stream) deleted(obj *unstructured.Unstructured, by []EventHandler) {
	st.own(func(s *store) change { return s.observeDeleted(obj) }, by)
}

// own is change for an own write, in whatever epoch the stream is.
func (st *stream) own(do func(*store) change, by []EventHandler) {
	st.mu.Lock()
	if st.stopped {
		st.mu.Unlock()
		return
	}
	c, epoch := do(&st.store), st.status.Epoch
	st.fit()
	st.mu.Unlock()
	st.tell(epoch, c, by)
}
