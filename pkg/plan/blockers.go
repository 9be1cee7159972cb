package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// blockers is all that keeps the owner from being ready, each once.
type blockers struct {
	list  []Problem
	index map[[2]string]int // of list, by reason and message, where there are many
}

func (b *blockers) add(p Problem) {
	if p.Reason == "" {
		p.Reason = v1alpha1.ReasonUnavailable
	}
	if i := b.find(p); i >= 0 {
		b.list[i].Terminal = b.list[i].Terminal || p.Terminal
		return
	}
	b.list = append(b.list, p)
	switch {
	case b.index != nil:
		b.index[[2]string{p.Reason, p.Message}] = len(b.list) - 1
	case len(b.list) > few:
		b.index = map[[2]string]int{}
		for i, p := range b.list {
			b.index[[2]string{p.Reason, p.Message}] = i
		}
	}
}

func (b *blockers) find(p Problem) int {
	if b.index == nil {
		return slices.IndexFunc(b.list, func(q Problem) bool { return q.Reason == p.Reason && q.Message == p.Message })
	}
	if i, ok := b.index[[2]string{p.Reason, p.Message}]; ok {
		return i
	}
	return -1
}

// sorted returns the blockers in the order of importance.
func (b *blockers) sorted() []Problem {
	list := slices.Clone(b.list)
	slices.SortFunc(list, func(p, q Problem) int {
		return cmp.Or(cmp.Compare(p.rank(), q.rank()), cmp.Compare(p.Message, q.Message), cmp.Compare(p.Reason, q.Reason))
	})
	return list
}

func (b *blockers) terminal() bool {
	return slices.ContainsFunc(b.list, func(p Problem) bool { return p.Terminal })
}

// How many blockers one message lists. All that is denied is listed: whoever
// grants it should not have to do so twice.
const (
	maxMessages = 3
	maxDenied   = 100
)

// summary returns the reason of the most important blocker, and the messages of
// all, or of all terminal ones if there is one: nobody has to act on the others
// before.
func (b *blockers) summary() (reason, message string) {
	list := b.sorted()
	reason = list[0].Reason
	if b.terminal() {
		list = slices.DeleteFunc(list, func(p Problem) bool { return !p.Terminal })
		reason = list[0].Reason
	}
	return reason, join(list, maxMessages)
}

// join joins the messages in the order they are in, each once and at most so many.
func join(list []Problem, most int) string {
	var texts []string
	seen := make(map[string]bool, len(list))
	for _, p := range list {
		if !seen[p.Message] {
			seen[p.Message] = true
			texts = append(texts, p.Message)
		}
	}
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// rank orders problems by importance, the first first.
func (p Problem) rank() int {
	switch {
	case p.isDenied():
		return 1
	case p.Reason == v1alpha1.ReasonKindMissing:
		return 2
	case p.Terminal:
		return 0
	case p.Reason == v1alpha1.ReasonProgressing || p.Reason == v1alpha1.ReasonDeleting:
		return 4
	}
	return 3
}

func (p Problem) isDenied() bool {
	switch p.Reason {
	case v1alpha1.ReasonForbidden, v1alpha1.ReasonUnauthenticated,
		v1alpha1.ReasonImpersonationRefused, v1alpha1.ReasonServiceAccountMissing:
		return true
	}
	return len(p.Denied) > 0
}

// gather collects what keeps the owner from being ready, beside what prune found.
func (p *reporter) gather() {
	for _, w := range p.queries {
		if in := p.inputAt(w.Location, w.GVK); in.Blocked != nil {
			p.blockers.add(*in.Blocked)
		}
	}
	p.eachReported(p.blockers.add)
	for _, problem := range p.watchProblems {
		if problem != nil {
			p.blockers.add(*problem)
		}
	}
	for i := range p.children {
		p.gatherChild(&p.children[i])
	}
	p.gatherWaiting()
}

func (p *reporter) gatherChild(c *child) {
	if c.problem != nil {
		p.blockers.add(*c.problem)
	}
	for i := range c.instances {
		switch it := &c.instances[i]; {
		case it.problem != nil:
			p.blockers.add(*it.problem)
		case it.progress != "":
			p.blockers.add(Problem{Reason: it.state.Reason, Message: it.progress})
		}
	}
}

// gatherWaiting makes children that wait for each other block, which nothing else
// accounts for.
func (p *reporter) gatherWaiting() {
	if len(p.blockers.list) > 0 {
		return
	}
	for i := range p.children {
		if state := p.children[i].overall(); state.State == Waiting {
			p.blockers.add(Problem{Reason: state.Reason, Message: state.Message})
		}
	}
}

// eachReported yields the problems that the snapshot itself reports, but for places,
// in a stable order.
func (s *subject) eachReported(yield func(Problem)) {
	if !s.ensures {
		for _, w := range s.program.Watches {
			if in := inputOf(s.snapshot.Watches, w.ID, w.ID); in.Blocked != nil {
				yield(*in.Blocked)
			}
		}
	}
	s.eachWritten(yield)
}

// eachWritten yields the problems of writes.
func (s *subject) eachWritten(yield func(Problem)) {
	for _, problem := range s.snapshot.Standing {
		yield(problem)
	}
	for _, key := range slices.Sorted(maps.Keys(s.snapshot.Problems)) {
		yield(s.snapshot.Problems[key])
	}
}

// eachPlace yields the problems of the places that were observed, in a stable order.
func (s *subject) eachPlace(yield func(Problem)) {
	var blocked []Location
	for at, in := range s.snapshot.Children {
		if in.Blocked != nil {
			blocked = append(blocked, at)
		}
	}
	slices.SortFunc(blocked, compareAt)
	for _, at := range blocked {
		yield(*s.snapshot.Children[at].Blocked)
	}
}

func compareAt(a, b Location) int {
	return cmp.Or(cmp.Compare(a.Child, b.Child), cmp.Compare(a.Namespace, b.Namespace))
}

// denied returns the accesses that were refused, sorted, each once: what is said
// of one is that of the first problem that has it.
func (s *subject) denied() []v1alpha1.DeniedAccess {
	var denied []v1alpha1.DeniedAccess
	note := func(problem Problem) { denied = append(denied, problem.Denied...) }
	s.eachPlace(note)
	s.eachReported(note)
	slices.SortStableFunc(denied, compareDenied)
	return slices.CompactFunc(denied, func(a, b v1alpha1.DeniedAccess) bool { return compareDenied(a, b) == 0 })
}

func compareDenied(a, b v1alpha1.DeniedAccess) int {
	return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name), v1alpha1.CompareVerbs(a.Verb, b.Verb))
}

// accessOf is what expressions see as `access`.
func accessOf(denied []v1alpha1.DeniedAccess) map[string]any {
	list := make([]any, len(denied))
	for i, d := range denied {
		list[i] = map[string]any{
			"verb": d.Verb, "group": d.Group, "resource": d.Resource,
			"namespace": d.Namespace, "name": d.Name, "message": d.Message,
		}
	}
	return map[string]any{"denied": list}
}
