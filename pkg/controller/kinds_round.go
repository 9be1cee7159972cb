package controller

import (
	"context"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Backoff between two lookups of a kind that the API server did not serve. One that a
// policy names, or whose stream is open, is waited for: it is looked up every few seconds.
// One that only the record of an owner names backs off to minutes.
const (
	lookupBackoffMin  = time.Second
	lookupBackoffMax  = 4 * time.Second
	recordBackoffMax  = 5 * time.Minute
	roundEvery        = 600 * time.Millisecond
	roundBurst        = 10
	recordRoundsApart = time.Second
)

// ServedKind is how the API server serves a kind.
type ServedKind struct {
	// Mappings are those of each version in which it is served, the preferred one first;
	// empty if it is served in none.
	Mappings []*meta.RESTMapping
	// Err says why that is not known; nil if it is.
	Err error
}

// search is a kind that is looked up until it is known. mu of kinds guards it.
type search struct {
	retry
	err error // why the kind is not known; nil: it was not looked up yet
	// recorded: only records of owners name the kind.
	recorded bool
}

// failed notes that a lookup did not find the kind. That it is not served says more than
// that nobody knows: only the former is looked up ever more rarely.
func (s *search) failed(now time.Time, err error) {
	s.err = err
	most := lookupBackoffMax
	if s.recorded && isUnserved(err) {
		most = recordBackoffMax
	}
	s.putOff(now, most)
}

// retry is when something is looked up, and how long it waits after that.
type retry struct {
	due  time.Time
	wait time.Duration
}

func newRetry(due time.Time) retry { return retry{due: due, wait: lookupBackoffMin} }

// putOff notes a lookup that was answered; the wait grows if it was due.
func (r *retry) putOff(now time.Time, most time.Duration) {
	early := now.Before(r.due)
	r.due = now.Add(r.wait)
	if !early {
		r.wait = min(2*r.wait, most)
	}
}

// roundPace bounds the rounds of discovery, whoever asks for them: some at once, then one
// every roundEvery. The zero value is ready.
type roundPace struct {
	full time.Time // when all of the burst is there again
	last time.Time
}

func (p *roundPace) take(now time.Time) {
	if p.full.Before(now) {
		p.full = now
	}
	p.full, p.last = p.full.Add(roundEvery), now
}

// free is when there may be another round.
func (p *roundPace) free() time.Time { return p.full.Add(-(roundBurst - 1) * roundEvery) }

// first is when a kind is looked up first: at once, but for one that only a record names.
// Those that come within a second share a round.
func (p *roundPace) first(now time.Time, recorded bool) time.Time {
	if apart := p.last.Add(recordRoundsApart); recorded && apart.After(now) {
		return apart
	}
	return now
}

// untilRound is how long it is until the next round; any: there is something to look up.
func (k *kinds) untilRound() (wait time.Duration, any bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	var due time.Time
	soonest := func(r retry) {
		if !any || r.due.Before(due) {
			due, any = r.due, true
		}
	}
	for _, of := range k.wanted {
		soonest(of.retry)
	}
	for _, d := range k.doubts {
		soonest(d.retry)
	}
	if free := k.rounds.free(); free.After(due) {
		due = free
	}
	return due.Sub(k.clock.Now()), any
}

// round is what one round of discovery has answered.
type round struct {
	kinds map[schema.GroupKind]ServedKind
	err   error // nothing was answered
}

// ask makes a round.
func (k *kinds) ask(ctx context.Context, wanted []schema.GroupVersionKind) round {
	if k.served == nil {
		return k.askMapper(wanted)
	}
	list := make([]schema.GroupKind, len(wanted))
	for i, gvk := range wanted {
		list[i] = gvk.GroupKind()
	}
	slices.SortFunc(list, func(a, b schema.GroupKind) int { return compareKinds(a.WithVersion(""), b.WithVersion("")) })
	found, err := k.served(ctx, slices.Compact(list))
	return round{kinds: found, err: err}
}

// askMapper asks the mapper for each kind.
func (k *kinds) askMapper(wanted []schema.GroupVersionKind) round {
	found := make(map[schema.GroupKind]ServedKind, len(wanted))
	for _, gvk := range wanted {
		var answer ServedKind
		mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
		switch {
		case err == nil:
			named := *mapping
			named.GroupVersionKind = gvk
			answer.Mappings = []*meta.RESTMapping{&named}
		case meta.IsNoMatchError(err):
			if answer.Mappings, err = k.mapper.RESTMappings(gvk.GroupKind()); !meta.IsNoMatchError(err) {
				answer.Err = err
			}
		default:
			answer.Err = err
		}
		before := found[gvk.GroupKind()]
		found[gvk.GroupKind()] = ServedKind{Mappings: append(before.Mappings, answer.Mappings...), Err: answer.Err}
	}
	return round{kinds: found}
}

// find is what the round says of a kind. That it is not served is said only if no version
// of it is.
func (r round) find(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	if r.err != nil {
		return nil, r.err
	}
	answer := r.kinds[gvk.GroupKind()]
	for _, m := range answer.Mappings {
		if m.GroupVersionKind.Version == gvk.Version {
			return m, nil
		}
	}
	switch {
	case answer.Err != nil:
		return nil, answer.Err
	case len(answer.Mappings) == 0:
		return nil, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	served := answer.Mappings[0]
	return nil, &otherVersion{wanted: gvk, served: served.GroupVersionKind, kind: kindOfMapping(served)}
}
