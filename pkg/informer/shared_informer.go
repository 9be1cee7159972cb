package informer

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// sharedInformer is the informer of one key. Its own goroutine executes run; all other
// callers take mu.
type sharedInformer struct {
	key       Key
	set       *Set
	projector projector
	interner  *interner
	selector  selector
	woken     chan struct{} // holds at most one; ends a wait

	mu            sync.RWMutex       // guards what is below; never held over I/O or a handler's call
	cancel        context.CancelFunc // nil until the goroutine runs
	endEpoch      context.CancelFunc // ends the last epoch that began; nil before the first
	listerWatcher *listerWatcher     // of the last epoch that got as far
	stopped       bool
	watchOpen     bool // the last watch was opened, and no failure was heard since
	hasBeenLive   bool // the informer was Live in its epoch
	status        Status
	store         store
	handlers      handlerIndex
}

var errNoAnswer = errors.New("the API server has not answered for " + answerTime.String())

func newSharedInformer(owner *Set, need Interest) *sharedInformer {
	return &sharedInformer{
		key: need.Key, set: owner,
		projector: newProjector(need),
		interner:  newInterner(),
		selector:  newSelector(need.Key),
		woken:     make(chan struct{}, 1),
		status:    Status{State: Probing, Since: owner.options.Clock.Now()},
		store:     store{versions: need.Key.Form.Versions},
	}
}

func (st *sharedInformer) now() time.Time { return st.set.options.Clock.Now() }

func (st *sharedInformer) addHandler(sub EventHandler, p subset) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.handlers.add(sub, p, st.key.Namespace)
	if p.label != "" {
		st.store.indexBy(p.label)
	}
}

// removeHandler returns how many needs are left.
func (st *sharedInformer) removeHandler(sub EventHandler, p subset) int {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.handlers.remove(sub, p, st.key.Namespace)
	if _, ok := st.handlers.byLabel[p.label]; !ok {
		delete(st.store.index, p.label)
	}
	return st.handlers.count
}

// stop ends the informer for good, and drops all that it holds. Its goroutine ends
// by itself.
func (st *sharedInformer) stop() {
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

func (st *sharedInformer) keyStatus() KeyStatus {
	st.mu.RLock()
	defer st.mu.RUnlock()
	return KeyStatus{
		Key: st.key, Status: st.status,
		Objects: len(st.store.objects), Bytes: st.store.estimateBytes(), Needs: st.handlers.count,
	}
}

// wake ends the informer's wait, or the next one if an attempt is under way: its
// answer may be older than the hint.
func (st *sharedInformer) wake() {
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
		st.wake()
	}
}

// waitOrWake returns after d, on a wake-up, or when ctx ends.
func (st *sharedInformer) waitOrWake(ctx context.Context, d time.Duration) {
	timer := st.set.options.Clock.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
	case <-st.woken:
		if ctx.Err() != nil {
			st.wake() // for the next epoch
		}
	case <-ctx.Done():
	}
}

// advanceTo records that the reflectorStore of an epoch has come to a resourceVersion.
func (st *sharedInformer) advanceTo(epoch uint64, resourceVersion string) {
	st.mu.Lock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.Unlock()
		return
	}
	changes := st.store.advanceTo(resourceVersion)
	st.mu.Unlock()
	for _, c := range changes {
		st.notify(epoch, c, nil)
	}
}

// applyChange changes the store for the reflectorStore of an epoch, and notifies handlers.
func (st *sharedInformer) applyChange(epoch uint64, do func(*store) storeChange) {
	st.mu.Lock()
	if st.stopped || st.status.Epoch != epoch {
		st.mu.Unlock()
		return
	}
	c := do(&st.store)
	st.fitInterner()
	st.mu.Unlock()
	st.notify(epoch, c, nil)
}

// fitInterner drops shared parts that no object has any more; mu is held. Before the
// first list the number of objects is not known, and nothing is dropped.
func (st *sharedInformer) fitInterner() {
	if st.store.synced {
		st.interner.fitTo(len(st.store.objects))
	}
}

// projectDelivered projects and interns an object that a client delivered.
func (st *sharedInformer) projectDelivered(obj any) (*unstructured.Unstructured, error) {
	if done, ok := obj.(projected); ok {
		return done.Unstructured, nil
	}
	object, err := st.projector.projectDelivered(obj)
	if err != nil {
		return nil, err
	}
	object = object.DeepCopy() // decoded maps and lists have room to grow; these do not
	st.interner.internObject(object)
	return object, nil
}

func (st *sharedInformer) observeWrite(obj *unstructured.Unstructured, by []EventHandler) {
	object := st.projector.projectObject(obj).DeepCopy() // obj stays the caller's
	st.interner.internObject(object)
	belongs := st.selector.evaluate(obj)
	st.applyOwnWrite(func(s *store) storeChange { return s.observeWrite(object, belongs) }, by)
}

func (st *sharedInformer) observeDeletion(obj *unstructured.Unstructured, by []EventHandler) {
	st.applyOwnWrite(func(s *store) storeChange { return s.observeDeletion(obj) }, by)
}

// applyOwnWrite is applyChange for an own write, in whatever epoch the informer is.
func (st *sharedInformer) applyOwnWrite(do func(*store) storeChange, by []EventHandler) {
	st.mu.Lock()
	if st.stopped {
		st.mu.Unlock()
		return
	}
	c, epoch := do(&st.store), st.status.Epoch
	st.fitInterner()
	st.mu.Unlock()
	st.notify(epoch, c, by)
}
