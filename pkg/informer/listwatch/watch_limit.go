package listwatch

import (
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
	// longWatch is how long a watch without a limit lasts, or up to twice as long: what
	// client-go asks for too, with a chance of its own.
	longWatch = 5 * time.Minute
)

// watchLimit decides when the open watch of a list-watcher ends, if that is not left to
// the Reflector. It is safe for concurrent use.
type watchLimit struct {
	factory *Factory
	calls   *callGroup

	mu            sync.Mutex  // guards what is below, and the end of proxy
	proxy         *watchProxy // of the watch that is open, nil if none is
	listPending   bool        // that watch brings a list first, which is not in yet
	hasWatched    bool        // a watch has been open
	expirePending bool        // the next watch is to be expired
}

// limitRequest asks for a short watch, and returns when it will end; zero for a watch that
// may last. A watch that brings a list is never limited here: the list would be cut off if
// it took longer.
func (l *watchLimit) limitRequest(opts *metav1.ListOptions, initial bool) (due time.Time) {
	lasts := longWatch
	if initial || !l.factory.reauthorize.Load() {
		lasts += l.factory.options.Jitter(longWatch)
	} else {
		now := l.factory.options.Clock.Now()
		due = l.factory.reopenSchedule.planEnd(now.Add(shortWatch))
		lasts = due.Sub(now)
	}
	opts.TimeoutSeconds = new(int64(lasts / time.Second))
	return due
}

// watchOpened records the watch that is open now, and limits it if it has to be.
func (l *watchLimit) watchOpened(t *watchProxy, initial bool) {
	l.mu.Lock()
	if l.hasWatched && !initial {
		l.factory.reopened.Add(1)
	}
	l.proxy, l.listPending, l.hasWatched = t, initial, true
	l.mu.Unlock()
	l.limitOpenWatch()
	l.expireWatch(false)
}

// listReceived records that the list of the open watch is complete.
func (l *watchLimit) listReceived() {
	l.mu.Lock()
	l.listPending = false
	l.mu.Unlock()
	l.limitOpenWatch()
	l.expireWatch(false)
}

// limitOpenWatch plans the end of the open watch, unless it is planned already or may
// last.
func (l *watchLimit) limitOpenWatch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.isOpenEnded() && l.factory.reauthorize.Load() {
		l.planEndLocked()
	}
}

// expireWatch plans the end of the open watch, or of the next one, unless it is planned
// already. Without now it does so only if that was asked for when no watch was open.
func (l *watchLimit) expireWatch(now bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.expirePending = l.expirePending || now; !l.expirePending || l.proxy == nil || l.listPending {
		return
	}
	l.expirePending, l.proxy.endsAnyway = false, true
	if l.isOpenEnded() {
		l.planEndLocked()
	}
}

// isOpenEnded reports whether a watch is open whose end is not planned; mu is held.
func (l *watchLimit) isOpenEnded() bool {
	return l.proxy != nil && !l.listPending && l.proxy.endsAt.IsZero()
}

// planEndLocked plans the end of the open watch; mu is held.
func (l *watchLimit) planEndLocked() {
	t, clock := l.proxy, l.factory.options.Clock
	now := clock.Now()
	t.endsAt = l.factory.reopenSchedule.planEnd(now.Add(firstWatch + l.factory.options.Jitter(time.Second)))
	t.endTimer = clock.AfterFunc(t.endsAt.Sub(now), func() { l.endPlanned(t) })
}

// endPlanned ends an open watch. The Reflector takes it for a timeout of the API
// server, and opens the next one where it was.
func (l *watchLimit) endPlanned(t *watchProxy) {
	if !l.calls.begin() {
		return
	}
	defer l.calls.done()
	if l.isStillToEnd(t) {
		t.endWatch()
	}
}

// isStillToEnd reports whether a watch still has to end now. If not, its limit is
// removed.
func (l *watchLimit) isStillToEnd(t *watchProxy) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.proxy != t || t.endsAnyway || l.factory.reauthorize.Load() {
		return l.proxy == t
	}
	l.factory.reopenSchedule.forgetEnd(t.endsAt)
	t.endsAt = time.Time{}
	return false
}

// watchEnded forgets a watch that has ended, and its planned end.
func (l *watchLimit) watchEnded(t *watchProxy) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.proxy == t {
		l.proxy = nil
	}
	if t.endTimer != nil {
		t.endTimer.Stop()
	}
	l.factory.reopenSchedule.forgetEnd(t.endsAt)
}
