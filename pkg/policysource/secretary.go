package policysource

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/pkg/access"
)

const (
	// tellTime is how often what the engine reports is compared with what is said, and
	// how often one object is written at most.
	tellTime = time.Second
	// writeTime bounds one write; mostWait is the longest wait after writes that failed.
	writeTime = 10 * time.Second
	mostWait  = 30 * time.Second
)

// secretary says on each policy how it fares. It has one goroutine, that of run.
type secretary struct {
	o       Options
	shelves []*shelf
	wake    chan struct{} // holds one

	mu   sync.Mutex // guards what is below
	last decision
	told bool // last is one

	// Of the goroutine.
	written  map[Origin]attempt
	ripening map[Origin]ripening    // by object: what is to be said on it
	known    map[entryKey]heard     // what was said last, to tell transitions
	lacking  map[entryKey]lack      // what was said last of missing rights
	silenced map[access.Access]bool // it was logged that this is denied
	due      time.Time              // when a write that was put off is to be sent; zero: none was
	away     bool                   // the API server did not answer a write of this pass
}

// attempt is the last write of an object.
type attempt struct {
	next     time.Time // the next one is not before
	failures int       // in a row
}

// holds says until when a write is to wait for the last one: a finalizer waits for
// nothing but failures.
func (a attempt) holds(urgent bool) time.Time {
	if urgent && a.failures == 0 {
		return time.Time{}
	}
	return a.next
}

func newSecretary(o Options, shelves []*shelf) *secretary {
	return &secretary{
		o: o, shelves: shelves, wake: make(chan struct{}, 1),
		written: map[Origin]attempt{}, ripening: map[Origin]ripening{}, known: map[entryKey]heard{}, lacking: map[entryKey]lack{}, silenced: map[access.Access]bool{},
	}
}

// tell gives a decision, which may be the one before.
func (s *secretary) tell(d decision) {
	s.mu.Lock()
	s.last, s.told = d, true
	s.mu.Unlock()
	select {
	case s.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// run works until ctx ends.
func (s *secretary) run(ctx context.Context) {
	for ctx.Err() == nil {
		wait := tellTime
		if !s.due.IsZero() {
			wait = min(wait, max(s.due.Sub(s.o.Clock.Now()), time.Millisecond))
		}
		timer := s.o.Clock.NewTimer(wait)
		select {
		case <-ctx.Done():
		case <-s.wake:
		case <-timer.C():
		}
		timer.Stop()
		if ctx.Err() == nil {
			s.due = time.Time{}
			s.pass(ctx)
		}
	}
}

// putOff notes that a write is to be sent later.
func (s *secretary) putOff(until time.Time) {
	if s.due.IsZero() || until.Before(s.due) {
		s.due = until
	}
}

// pass compares what is to be said with what is, once. It waits for one write at most that is
// not answered: the others are for the next pass, which knows how policies fare by then.
func (s *secretary) pass(ctx context.Context) {
	s.mu.Lock()
	d, told := s.last, s.told
	s.mu.Unlock()
	if !told {
		return
	}
	s.away = false
	reports := s.reports()
	notes := map[Origin][]note{}
	seen := map[entryKey]bool{}
	for _, doc := range d.documents {
		seen[doc.entryKey] = true
		says := s.say(doc, reports)
		s.announce(doc, says)
		s.announceRights(doc, says)
		switch doc.origin.Kind {
		case CustomResource:
			s.keep(ctx, doc, says)
		case ConfigMap:
			notes[doc.origin.object()] = append(notes[doc.origin.object()], noteOf(doc, says))
		}
	}
	s.annotate(ctx, notes)
	s.forget(seen)
}

// reports are those of the engine, by policy. It is safe for concurrent use, as say is.
func (s *secretary) reports() map[string]*Report {
	list := s.o.Controller.Reports()
	reports := make(map[string]*Report, len(list))
	for i := range list {
		reports[list[i].Policy] = &list[i]
	}
	return reports
}

// say says how a document fares.
func (s *secretary) say(d document, reports map[string]*Report) said {
	left := 0
	if d.retiring {
		left, _ = s.o.Controller.RetiredOf(d.id)
	}
	return say(d, reports[d.id], left)
}

// forget drops what is remembered of what is gone.
func (s *secretary) forget(seen map[entryKey]bool) {
	maps.DeleteFunc(s.known, func(key entryKey, _ heard) bool { return !seen[key] })
	maps.DeleteFunc(s.lacking, func(key entryKey, _ lack) bool { return !seen[key] })
	gone := func(origin Origin) bool {
		shelf := s.shelf(origin.Kind)
		return shelf == nil || shelf.object(origin) == nil
	}
	maps.DeleteFunc(s.written, func(origin Origin, _ attempt) bool { return gone(origin) })
	maps.DeleteFunc(s.ripening, func(origin Origin, _ ripening) bool { return gone(origin) })
}

// shelf returns the one for a kind; nil if it is not read.
func (s *secretary) shelf(kind Kind) *shelf {
	for _, shelf := range s.shelves {
		if shelf.kind.kind == kind {
			return shelf
		}
	}
	return nil
}
