package informer

import (
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// shortWatch is how long a watch lasts while informers are reauthorized, or a second
	// more.
	shortWatch = 3 * time.Second
	// firstWatch is the same for a watch that was opened without that limit, from
	// when it is planned, or up to two seconds more. client-go asks for a whole list
	// again if a watch ends silently within its first second.
	firstWatch = 2 * time.Second
)

// Reauthorize turns on or off that informers notice by themselves that a right was taken
// away: the API server checks rights when a watch is opened, never again. While
// it is on, watches last 3 or 4 seconds, at random, and are then opened again where
// they were, which is refused if the right is gone. That needs no list; the informer
// stays Live and tells nobody. No more than Options.Reopens of them end in a
// second: with more informers than that allows they last longer, 10 seconds for
// 600 informers with 60. While it is off they last as long as client-go asks for, 5
// to 10 minutes.
//
// Turning it on also ends the watches that are open, spread over the same time.
// It never blocks on I/O.
func (s *Set) Reauthorize(on bool) {
	if s.reauthorize.Swap(on) == on || !on {
		return
	}
	for _, st := range s.allInformers() {
		st.limitOpenWatch()
	}
}

// Reopened returns how many watches were opened again where they were, without a
// list, for whatever reason the one before had ended.
func (s *Set) Reopened() uint64 { return s.reopened.Load() }

// Expire opens the watches that match again where they are, as Reauthorize does, once:
// call it when their right may be gone and nobody can say for which of them. It
// takes 2 to 3 seconds, longer with more informers than Options.Reopens. For an informer
// that is being opened, which may have been permitted before, that begins when its
// watch is open and its list is in; one that will be opened again by itself soon is
// left alone. match is called with no lock held and must not block. Expire never
// blocks on I/O.
func (s *Set) Expire(match func(Key) bool) {
	for _, st := range s.allInformers() {
		if match(st.key) {
			st.withListerWatcher((*listerWatcher).expireWatch)
		}
	}
}

// limitOpenWatch limits the watch that is open, if one is.
func (st *sharedInformer) limitOpenWatch() { st.withListerWatcher((*listerWatcher).limitOpenWatch) }

// withListerWatcher calls do with the listerWatcher of the informer's epoch, if there is one.
func (st *sharedInformer) withListerWatcher(do func(*listerWatcher)) {
	st.mu.RLock()
	o := st.listerWatcher
	st.mu.RUnlock()
	if o != nil {
		do(o)
	}
}

// limitWatch asks for a short watch, and returns when it will end; zero if that is
// left to the Reflector. A watch that brings a list is never limited here: the
// list would be cut off if it took longer.
func (o *listerWatcher) limitWatch(opts *metav1.ListOptions, initial bool) time.Time {
	s := o.informer.set
	if initial || !s.reauthorize.Load() {
		return time.Time{}
	}
	now := o.informer.now()
	due := s.reopenSchedule.planEnd(now.Add(shortWatch))
	seconds := int64(due.Sub(now) / time.Second)
	opts.TimeoutSeconds = &seconds
	return due
}

// setOpenWatch records the watch that is open now, and limits it if it has to be.
func (o *listerWatcher) setOpenWatch(t *watchProxy, initial bool) {
	o.mu.Lock()
	if o.hasWatched && !initial {
		o.informer.set.reopened.Add(1)
	}
	o.proxy, o.listPending, o.hasWatched = t, initial, true
	o.mu.Unlock()
	o.limitOpenWatch()
	o.expireWatchIf(false)
}

// listReceived records that the list of the open watch is complete.
func (o *listerWatcher) listReceived() {
	o.mu.Lock()
	o.listPending = false
	o.mu.Unlock()
	o.limitOpenWatch()
	o.expireWatchIf(false)
}

// limitOpenWatch plans the end of the open watch, unless it is planned already or may
// last.
func (o *listerWatcher) limitOpenWatch() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isOpenEnded() && o.informer.set.reauthorize.Load() {
		o.planEndLocked()
	}
}

// expireWatch plans the end of the open watch, or of the next one, unless it is planned
// already.
func (o *listerWatcher) expireWatch() { o.expireWatchIf(true) }

// expireWatchIf is expireWatch if now is true, or if it was when no watch was open.
func (o *listerWatcher) expireWatchIf(now bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.expirePending = o.expirePending || now; !o.expirePending || o.proxy == nil || o.listPending {
		return
	}
	o.expirePending, o.proxy.endsAnyway = false, true
	if o.isOpenEnded() {
		o.planEndLocked()
	}
}

// isOpenEnded reports whether a watch is open whose end is not planned; mu is held.
func (o *listerWatcher) isOpenEnded() bool {
	return o.proxy != nil && !o.listPending && o.proxy.endsAt.IsZero()
}

// planEndLocked plans the end of the open watch; mu is held.
func (o *listerWatcher) planEndLocked() {
	s, t, now := o.informer.set, o.proxy, o.informer.now()
	t.endsAt = s.reopenSchedule.planEnd(now.Add(firstWatch + rand.N(time.Second)))
	t.endTimer = s.options.Clock.AfterFunc(t.endsAt.Sub(now), func() { o.endPlanned(t) })
}

// endPlanned ends an open watch. The Reflector takes it for a timeout of the API
// server, and opens the next one where it was.
func (o *listerWatcher) endPlanned(t *watchProxy) {
	if !o.beginCall() {
		return
	}
	defer o.running.Done()
	if o.isStillToEnd(t) {
		t.endWatch()
	}
}

// isStillToEnd reports whether a watch still has to end now. If not, its limit is
// removed.
func (o *listerWatcher) isStillToEnd(t *watchProxy) bool {
	s := o.informer.set
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.proxy != t || t.endsAnyway || s.reauthorize.Load() {
		return o.proxy == t
	}
	s.reopenSchedule.forgetEnd(t.endsAt)
	t.endsAt = time.Time{}
	return false
}

// watchEnded forgets a watch that has ended, and its planned end.
func (o *listerWatcher) watchEnded(t *watchProxy) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.proxy == t {
		o.proxy = nil
	}
	if t.endTimer != nil {
		t.endTimer.Stop()
	}
	o.informer.set.reopenSchedule.forgetEnd(t.endsAt)
}

// Revoke closes informers whose right was taken away: call it with proof, such as
// the answer of an access review, where the open watch itself would go on. Every
// informer for which match is true and that is not refused already is Forbidden when
// Revoke returns, with err as the reason: its connection is being closed, its store
// is dropped without a Deleted for anything, and its handlers have been told
// StateChanged, in this goroutine. Like any Forbidden informer it is tried again
// after its backoff, or on Retry.
//
// An informer that is refused already keeps its state; if it is being tried again
// just now, that attempt is given up, because its answer may be older than the
// proof. An informer that is first needed during the call is left alone.
//
// match is called with no lock held and must not block; err must not be nil.
// Revoke never blocks on I/O.
func (s *Set) Revoke(match func(Key) bool, err error) {
	v := classification{state: Forbidden, reason: string(Forbidden), err: err}
	for _, st := range s.allInformers() {
		if match(st.key) {
			st.revoke(v)
		}
	}
}

// revoke ends the epoch that is under way. Another number makes all that still
// comes from it too late.
func (st *sharedInformer) revoke(v classification) {
	st.changeState(func() {
		st.status.Epoch = st.set.epochs.Add(1)
		st.watchOpen = false
		if st.endEpoch != nil {
			st.endEpoch()
		}
		if !st.status.State.Final() {
			st.closeStore(v)
		}
	})
}

// reopenSchedule plans when open watches end, so that no second has more ends than the
// ceiling. It is safe for concurrent use.
type reopenSchedule struct {
	ceiling int // positive; never changes

	mu      sync.Mutex    // guards what is below
	planned map[int64]int // ends that have not come, by Unix second; never 0
}

// planEnd returns at or a second after it, at random, or, where neither has room, the
// first of the seconds after that. The caller calls forgetEnd with it at the end.
func (p *reopenSchedule) planEnd(at time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if later := at.Add(time.Second); rand.N(2) == 0 && p.roomLocked(later) {
		at = later
	}
	for !p.roomLocked(at) {
		at = at.Add(time.Second)
	}
	if p.planned == nil {
		p.planned = map[int64]int{}
	}
	p.planned[at.Unix()]++
	return at
}

func (p *reopenSchedule) roomLocked(at time.Time) bool { return p.planned[at.Unix()] < p.ceiling }

// forgetEnd gives a planned end back. The zero time is ignored.
func (p *reopenSchedule) forgetEnd(at time.Time) {
	if at.IsZero() {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	second := at.Unix()
	p.planned[second]--
	if p.planned[second] == 0 {
		delete(p.planned, second)
	}
}
