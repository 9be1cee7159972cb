package placepermissions

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// changeHandler is one place of a Tracker as a handler of changed permissions. It is comparable: equal
// values are the same handler.
type changeHandler struct {
	tracker *Tracker
	place   string
}

var _ access.ChangeHandler = changeHandler{}

// Changed implements access.ChangeHandler. Changes that do not affect this policy are dropped.
func (h changeHandler) Changed(access.Key) {
	r, ok := h.tracker.CurrentAt(h.place)
	if !ok {
		return
	}
	if c := h.tracker.handleAnswer(h.place, r); c.IsNew || c.IsConfirmed {
		h.tracker.options.Changed(c)
	}
}

// handleAnswer notes that an answer is acted upon now, and returns what has changed since the last one.
func (t *Tracker) handleAnswer(place string, r *permissionset.Set) Change {
	t.mu.Lock()
	defer t.mu.Unlock()
	a, ok := t.requests[place]
	if !ok {
		return Change{}
	}
	c := Change{Place: place, Now: r, Before: a.handled, IsNew: a.handled != r, IsConfirmed: a.isDoubted}
	if c.Before == nil { // nothing was handled since other things are asked
		c.Before = a.before
	}
	a.handled, a.isDoubted = r, false
	return c
}

// logAnswer logs that permissions went missing or came back. A namespace that nobody has named, and in
// which no owner was ever seen, is not worth a line.
func (t *Tracker) logAnswer(place string, a *request, r *permissionset.Set) {
	if !r.Reviewed || t.options.IsReplaced() {
		return
	}
	t.logClusterWide(place, r)
	t.mu.Lock()
	now, was, whole := r.RequiredText(), a.logged, a.scope != ToSee
	if now == "" || was == "" || whole {
		a.logged = now
	}
	t.mu.Unlock()
	log := t.options.Logger.WithValues("policy", t.options.Policy, "namespace", place)
	if !whole && !t.options.IsServed(place) {
		log = log.V(1)
	}
	switch {
	case now == was:
	case now == "" && whole:
		log.Info("permissions are complete")
	case now == "":
		log.Info("owners may be watched again")
	case whole || was == "": // else it is less than what was said before
		log.Info("permissions are missing", "missing", now)
	}
}

// missingToWatchAll is what is missing of the permissions in all namespaces to watch in all of them
// together, of a policy that asks for that. It is required of nobody: each namespace is then watched
// by itself.
func (t *Tracker) missingToWatchAll(place string, r *permissionset.Set) *permissionset.Set {
	missed := &permissionset.Set{Reviewed: r.Reviewed}
	if place != allNamespaces || !t.options.WantsClusterWide {
		return missed
	}
	for _, m := range r.Missing {
		if m.Optional {
			reads := slices.DeleteFunc(slices.Clone(m.Verbs), func(verb string) bool { return !isReading(verb) })
			missed.AddMissing(t.placeFor(place), m, reads, false)
		}
	}
	return missed
}

// logClusterWide logs that a policy that asks for cluster-wide streams does not get them, or gets them
// now.
func (t *Tracker) logClusterWide(place string, r *permissionset.Set) {
	if place != allNamespaces {
		return
	}
	now := t.missingToWatchAll(place, r).RequiredText()
	t.mu.Lock()
	was := t.loggedNarrow
	t.loggedNarrow = now
	t.mu.Unlock()
	log := t.options.Logger.WithValues("policy", t.options.Policy)
	switch {
	case now == was:
	case now == "":
		log.Info("permissions for cluster-wide watches are complete")
	default:
		log.Info("permissions for cluster-wide watches are missing: namespaces are watched one by one", "missing", now)
	}
}
