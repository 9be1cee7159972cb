package discovery

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// WaitForRound blocks until a round is due. It returns false when ctx has ended.
func (c *Cache) WaitForRound(ctx context.Context) bool {
	for {
		wait, ok := c.untilRound()
		if ok && wait <= 0 {
			return ctx.Err() == nil
		}
		if !ok {
			wait = wakeup.NoEnd
		}
		if wakeup.WaitFor(ctx, c.options.Clock, wait, c.wake) == wakeup.Ended {
			return false
		}
	}
}

// untilRound returns how long it is until the next round; not ok: there is nothing to ask about.
func (c *Cache) untilRound() (wait time.Duration, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var due time.Time
	soonest := func(r retry) {
		if !ok || r.due.Before(due) {
			due, ok = r.due, true
		}
	}
	for _, of := range c.wanted {
		r := of.retry
		if of.lazy && of.err != nil && r.due.Before(c.turn) {
			r.due = c.turn
		}
		soonest(r)
	}
	for _, s := range c.stale {
		soonest(s.retry)
	}
	if free := c.pace.nextRound(); free.After(due) {
		due = free
	}
	return due.Sub(c.currentTime()), ok
}

// PollRound makes one round, whether or not one is due, and returns the kinds of which there is
// news. It makes no request if nothing is wanted or stale.
func (c *Cache) PollRound(ctx context.Context) (news map[schema.GroupKind]bool) {
	recovered := c.dropRecovered()
	questions := c.beginRound(recovered)
	if len(questions) == 0 {
		return nil
	}
	asked := c.currentTime()
	find := c.askQuestions(ctx, questions)
	c.mu.Lock()
	defer c.mu.Unlock()
	news = map[schema.GroupKind]bool{}
	for _, q := range questions {
		found, err := find(q.gvk)
		changed := false
		if q.stale == nil {
			changed = c.answerLocked(q.gvk, found, err)
		} else {
			changed = c.recheckLocked(q, asked, found, err)
		}
		if changed {
			news[q.gvk.GroupKind()] = true
		}
	}
	return news
}

// question is what a round asks about: a kind that is wanted or, if stale is not nil, one that is
// known.
type question struct {
	gvk       schema.GroupVersionKind
	stale     *staleResource
	resource  schema.GroupVersionResource // that of stale
	recovered bool                        // it is not missing any more
}

// beginRound notes a round, and returns what it asks about, in a stable order.
func (c *Cache) beginRound(recovered map[schema.GroupVersionResource]bool) (questions []question) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var lazy []lazySearch
	for gvk, of := range c.wanted {
		if of.lazy {
			lazy = append(lazy, lazySearch{gvk, of})
		} else {
			questions = append(questions, question{gvk: gvk})
		}
	}
	for _, l := range c.inTurnLocked(lazy) {
		questions = append(questions, question{gvk: l.gvk})
	}
	for resource, s := range c.stale {
		questions = append(questions, question{gvk: c.kinds[resource], stale: s, resource: resource, recovered: recovered[resource]})
	}
	if len(questions) > 0 {
		c.pace.beginRound(c.currentTime())
	}
	slices.SortFunc(questions, compareQuestions)
	return questions
}

// lazySearch is a kind that is looked up lazily.
type lazySearch struct {
	gvk schema.GroupVersionKind
	*search
}

// inTurnLocked returns those of the lazy searches that this round is about: where there are
// many only what is due, those without an answer first, then those that wait the longest. The
// caller holds mu.
func (c *Cache) inTurnLocked(lazy []lazySearch) []lazySearch {
	if len(lazy) <= lazyKinds {
		return lazy
	}
	now := c.currentTime()
	lazy = slices.DeleteFunc(lazy, func(l lazySearch) bool { return l.err != nil && l.due.After(now) })
	if len(lazy) <= lazyKinds {
		return lazy
	}
	c.turn = now.Add(lazyTurn)
	slices.SortFunc(lazy, compareTurns)
	return lazy[:lazyKinds]
}

func compareTurns(a, b lazySearch) int {
	switch {
	case a.err == nil && b.err != nil:
		return -1
	case a.err != nil && b.err == nil:
		return 1
	}
	return cmp.Or(a.due.Compare(b.due), compareKinds(a.gvk.GroupKind(), b.gvk.GroupKind()), strings.Compare(a.gvk.Version, b.gvk.Version))
}

func compareQuestions(a, b question) int {
	return cmp.Or(compareKinds(a.gvk.GroupKind(), b.gvk.GroupKind()), strings.Compare(a.gvk.Version, b.gvk.Version),
		strings.Compare(a.resource.Version, b.resource.Version), strings.Compare(a.resource.Resource, b.resource.Resource))
}

func compareKinds(a, b schema.GroupKind) int {
	return cmp.Or(strings.Compare(a.Group, b.Group), strings.Compare(a.Kind, b.Kind))
}

// askQuestions asks about each kind once, and returns what the answer says of one.
func (c *Cache) askQuestions(ctx context.Context, questions []question) func(schema.GroupVersionKind) (Resource, error) {
	var kinds []schema.GroupKind // questions are sorted by kind
	for _, q := range questions {
		kinds = append(kinds, q.gvk.GroupKind())
	}
	served, err := c.options.Served(ctx, slices.Compact(kinds))
	return func(gvk schema.GroupVersionKind) (Resource, error) {
		if err != nil {
			return Resource{}, err
		}
		return served[gvk.GroupKind()].findVersion(gvk)
	}
}

// answerLocked notes what a round says of a wanted kind, and reports whether that is news. An
// error is noted only if the kind is still wanted. The caller holds mu.
func (c *Cache) answerLocked(gvk schema.GroupVersionKind, found Resource, err error) (news bool) {
	if err == nil {
		c.learnLocked(gvk, found)
		return true
	}
	of := c.wanted[gvk]
	if of == nil {
		return false
	}
	news = of.err == nil || outcomeOf(of.err) != outcomeOf(err)
	c.failLocked(of, err)
	return news
}

// outcome is what is of interest of an error.
type outcome struct {
	unserved bool
	served   schema.GroupVersionKind // instead
}

func outcomeOf(err error) outcome {
	if other := otherVersion(err); other != nil {
		return outcome{unserved: true, served: other.Served}
	}
	return outcome{unserved: IsUnserved(err)}
}

// learnLocked notes how a kind is served. The caller holds mu.
func (c *Cache) learnLocked(gvk schema.GroupVersionKind, found Resource) {
	delete(c.wanted, gvk)
	c.known[gvk], c.kinds[found.GVR] = found, gvk
}

// failLocked notes why a kind was not found. Only one that is said not to be served is asked
// about ever more rarely; of others nothing is known. The version that is served instead is
// known from then on, for actions on its objects. The caller holds mu.
func (c *Cache) failLocked(of *search, err error) {
	of.err = err
	most := backoffMax
	if of.lazy && IsUnserved(err) {
		most = lazyBackoffMax
	}
	of.postponeRetry(c.currentTime(), most)
	if other := otherVersion(err); other != nil {
		c.learnLocked(other.Served, other.Resource)
	}
}
