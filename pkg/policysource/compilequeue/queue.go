// Package compilequeue says which manifest is compiled next, so that no namespace delays the policies of another
// one. It is pure: who calls it has the clock and the goroutines.
package compilequeue

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

const (
	// LargeSize is from how many bytes on a manifest is large. It takes so long that one of them is
	// compiled at a time, so that small ones need not wait for it.
	LargeSize = 32 << 10
	// Interval is how often one manifest is compiled that changes all the time, after
	// Burst times at once.
	Interval = 2 * time.Second
	Burst    = 3
)

// Queue has the manifests that wait to be compiled, the newest version of each, and what the others were
// compiled to. Namespaces take turns, of which the files are one, and at most one manifest of a namespace
// is compiled at a time. One manifest is compiled no faster than so often. Of large
// manifests one is compiled at a time. It is safe for concurrent use.
type Queue struct {
	mu       sync.Mutex          // guards what is below; held over no call
	waiting  []manifest.Manifest // one of each origin, in the order in which they came
	busy     map[string]bool     // by namespace
	isLarge  bool                // a large manifest is compiled
	lastTurn map[string]int      // by namespace
	turns    int
	pace     map[manifest.Origin]pace
	results  map[manifest.Origin]result
}

// pace says when a manifest may be compiled again: not while it rests, as long as the last time
// took, nor when it has used up its turns.
type pace struct{ restUntil, usedUntil time.Time }

// result is what a version of a manifest was compiled to.
type result struct {
	digest   string
	contents *manifest.Contents
}

// New returns a queue in which nothing waits.
func New() *Queue {
	return &Queue{busy: map[string]bool{}, lastTurn: map[string]int{}, pace: map[manifest.Origin]pace{}, results: map[manifest.Origin]result{}}
}

// SetManifests has all of these manifests compiled that are not yet. Each takes the place of an older
// version that waits. Manifests that are not among them are dropped and forgotten.
func (q *Queue) SetManifests(shown []manifest.Manifest, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	shownOrigins, position := map[manifest.Origin]bool{}, map[manifest.Origin]int{}
	for i, m := range q.waiting {
		position[m.Origin] = i + 1
	}
	for _, m := range shown {
		shownOrigins[m.Origin] = true
		switch i := position[m.Origin]; {
		case i > 0:
			q.waiting[i-1] = m
		case q.results[m.Origin].digest != m.Digest:
			q.waiting = append(q.waiting, m)
		}
	}
	q.waiting = slices.DeleteFunc(q.waiting, func(m manifest.Manifest) bool {
		return !shownOrigins[m.Origin] || q.results[m.Origin].digest == m.Digest
	})
	maps.DeleteFunc(q.results, func(o manifest.Origin, _ result) bool { return !shownOrigins[o] })
	maps.DeleteFunc(q.pace, func(o manifest.Origin, p pace) bool {
		return !shownOrigins[o] && p.restUntil.Before(now) && p.usedUntil.Before(now)
	})
}

// TakeNext returns the manifest whose turn it is, which FinishCompile is to be called with. If there is none, it
// returns nil, and after which time there may be one without a call of another method; 0 for never.
func (q *Queue) TakeNext(now time.Time) (*manifest.Manifest, time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	next, wait := -1, time.Duration(0)
	for i, m := range q.waiting {
		if q.busy[m.Origin.Namespace] || q.isLarge && isLarge(m) {
			continue
		}
		if left := q.pace[m.Origin].nextTurn().Sub(now); left > 0 {
			if wait == 0 || left < wait {
				wait = left
			}
			continue
		}
		if next < 0 || q.lastTurn[m.Origin.Namespace] < q.lastTurn[q.waiting[next].Origin.Namespace] {
			next = i
		}
	}
	if next < 0 {
		return nil, wait
	}
	m := q.waiting[next]
	q.waiting = slices.Delete(q.waiting, next, next+1)
	q.busy[m.Origin.Namespace] = true
	q.isLarge = q.isLarge || isLarge(m)
	q.turns++
	q.lastTurn[m.Origin.Namespace] = q.turns
	p := q.pace[m.Origin]
	if p.usedUntil.Before(now) {
		p.usedUntil = now
	}
	p.usedUntil = p.usedUntil.Add(Interval)
	q.pace[m.Origin] = p
	return &m, 0
}

func isLarge(m manifest.Manifest) bool { return m.Size >= LargeSize }

// nextTurn returns when a manifest may be compiled again.
func (p pace) nextTurn() time.Time {
	if due := p.usedUntil.Add(-(Burst - 1) * Interval); due.After(p.restUntil) {
		return due
	}
	return p.restUntil
}

// FinishCompile keeps what a manifest was compiled to from one time to another.
func (q *Queue) FinishCompile(m manifest.Manifest, contents *manifest.Contents, from, to time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.busy, m.Origin.Namespace)
	q.isLarge = q.isLarge && !isLarge(m)
	q.results[m.Origin] = result{digest: m.Digest, contents: contents}
	p := q.pace[m.Origin]
	p.restUntil = to.Add(to.Sub(from))
	q.pace[m.Origin] = p
	if len(q.waiting) == 0 && len(q.busy) == 0 {
		clear(q.lastTurn)
	}
}

// ContentsOf returns what this version of a manifest was compiled to; nil if it was not yet.
func (q *Queue) ContentsOf(m manifest.Manifest) *manifest.Contents {
	q.mu.Lock()
	defer q.mu.Unlock()
	if r := q.results[m.Origin]; r.digest == m.Digest {
		return r.contents
	}
	return nil
}
