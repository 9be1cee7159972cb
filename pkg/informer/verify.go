package informer

import (
	"math/rand/v2"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// shortWatch is how long a watch lasts while streams are verified, or a second
	// more.
	shortWatch = 3 * time.Second
	// firstWatch is the same for a watch that was opened without that limit, from
	// when it is planned, or up to two seconds more. client-go asks for a whole list
	// again if a watch ends silently within its first second.
	firstWatch = 2 * time.Second
)

// Reauthorize says whether streams are to notice by themselves that a right was taken
// away: the API server looks at rights when a watch is opened, never again. While
// it is on, watches last 3 or 4 seconds, at random, and are then opened again where
// they were, which is refused if the right is gone. That needs no list; the stream
// stays Live and tells nobody. No more than Options.Reopens of them end in a
// second: with more streams than that allows they last longer, 10 seconds for
// 600 streams with 60. While it is off they last as long as client-go asks for, 5
// to 10 minutes.
//
// Turning it on also ends the watches that are open, spread over the same time.
// It never blocks on I/O.
func (s *Set) Reauthorize(on bool) {
	if s.verify.Swap(on) == on || !on {
		return
	}
	for _, st := range s.all() {
		st.shorten()
	}
}

// Reopened returns how many watches were opened again where they were, without a
// list, for whatever reason the one before had ended.
func (s *Set) Reopened() uint64 { return s.resumed.Load() }

// Expire opens the watches that match again where they are, as Verify does, once:
// call it when their right may be gone and nobody can say for which of them. It
// takes 2 to 3 seconds, longer with more streams than Options.Reopens. For a stream
// that is being opened, which may have been permitted before, that begins when its
// watch is open and its list is in; one that will be opened again by itself soon is
// left alone. match is called with no lock held and must not block. Recheck never
// blocks on I/O.
func (s *Set) Expire(match func(Key) bool) {
	for _, st := range s.all() {
		if match(st.key) {
			st.withOpener((*opener).recheck)
		}
	}
}

// shorten limits the watch that is open, if one is.
func (st *stream) shorten() { st.withOpener((*opener).shorten) }

// withOpener calls do with the opener of the stream's epoch, if there is one.
func (st *stream) withOpener(do func(*opener)) {
	st.mu.RLock()
	o := st.opener
	st.mu.RUnlock()
	if o != nil {
		do(o)
	}
}

// limit asks for a short watch, and returns when it will end; zero if that is
// left to the Reflector. A watch that brings a list is never limited here: the
// list would be cut off if it took longer.
func (o *opener) limit(opts *metav1.ListOptions, initial bool) time.Time {
	s := o.stream.owner
	if initial || !s.verify.Load() {
		return time.Time{}
	}
	now := o.stream.now()
	due := s.reopens.plan(now.Add(shortWatch))
	seconds := int64(due.Sub(now) / time.Second)
	opts.TimeoutSeconds = &seconds
	return due
}

// hold notes which watch is open now.
func (o *opener) hold(t *tap, initial bool) {
	o.mu.Lock()
	if o.watched && !initial {
		o.stream.owner.resumed.Add(1)
	}
	o.tap, o.listing, o.watched = t, initial, true
	o.mu.Unlock()
	o.shorten()
	o.recheckIf(false)
}

// listed notes that the list which the open watch brings is in.
func (o *opener) listed() {
	o.mu.Lock()
	o.listing = false
	o.mu.Unlock()
	o.shorten()
	o.recheckIf(false)
}

// shorten plans the end of the open watch, unless it is planned already or may
// last.
func (o *opener) shorten() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.isOpenEnded() && o.stream.owner.verify.Load() {
		o.endLocked()
	}
}

// recheck plans the end of the open watch, or of the next one, unless it is planned
// already.
func (o *opener) recheck() { o.recheckIf(true) }

// recheckIf is recheck if that is asked for now, or was when no watch was open.
func (o *opener) recheckIf(now bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.doubted = o.doubted || now; !o.doubted || o.tap == nil || o.listing {
		return
	}
	o.doubted, o.tap.exact = false, true
	if o.isOpenEnded() {
		o.endLocked()
	}
}

// isOpenEnded says whether a watch is open whose end is not planned; mu is held.
func (o *opener) isOpenEnded() bool { return o.tap != nil && !o.listing && o.tap.due.IsZero() }

// endLocked plans the end of the open watch; mu is held.
func (o *opener) endLocked() {
	s, t, now := o.stream.owner, o.tap, o.stream.now()
	t.due = s.reopens.plan(now.Add(firstWatch + rand.N(time.Second)))
	t.timer = s.options.Clock.AfterFunc(t.due.Sub(now), func() { o.lapse(t) })
}

// lapse ends an open watch. The Reflector takes it for a timeout of the API
// server, and opens the next one where it was.
func (o *opener) lapse(t *tap) {
	if !o.enter() {
		return
	}
	defer o.running.Done()
	if o.lapsed(t) {
		t.lapse()
	}
}

// lapsed says whether a watch is to end now; otherwise it is not limited any
// more.
func (o *opener) lapsed(t *tap) bool {
	s := o.stream.owner
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tap != t || t.exact || s.verify.Load() {
		return o.tap == t
	}
	s.reopens.done(t.due)
	t.due = time.Time{}
	return false
}

// letGo notes that a watch has ended.
func (o *opener) letGo(t *tap) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tap == t {
		o.tap = nil
	}
	if t.timer != nil {
		t.timer.Stop()
	}
	o.stream.owner.reopens.done(t.due)
}
