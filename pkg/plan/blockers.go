package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// blockers is all that keeps the owner from being ready.
type blockers []Problem

func (b *blockers) add(p Problem) {
	if p.Reason == "" {
		p.Reason = v1alpha1.ReasonUnavailable
	}
	same := func(q Problem) bool { return q.Reason == p.Reason && q.Message == p.Message }
	if i := slices.IndexFunc(*b, same); i >= 0 {
		(*b)[i].Terminal = (*b)[i].Terminal || p.Terminal
		return
	}
	*b = append(*b, p)
}

func (b blockers) terminal() bool {
	return slices.ContainsFunc(b, func(p Problem) bool { return p.Terminal })
}

// maxMessages is how many blockers one message lists.
const maxMessages = 3

// summary returns the reason of the most important blocker, and the messages of
// all, or of all terminal ones if there is one: nobody has to act on the others
// before.
func (b blockers) summary() (reason, message string) {
	b = slices.Clone(b)
	slices.SortFunc(b, func(p, q Problem) int {
		return cmp.Or(cmp.Compare(p.rank(), q.rank()), cmp.Compare(p.Message, q.Message), cmp.Compare(p.Reason, q.Reason))
	})
	reason = b[0].Reason
	if b.terminal() {
		b = slices.DeleteFunc(b, func(p Problem) bool { return !p.Terminal })
		reason = b[0].Reason
	}
	return reason, b.join()
}

// join joins the messages in the order they are in.
func (b blockers) join() string {
	var texts []string
	for _, p := range b {
		if !slices.Contains(texts, p.Message) {
			texts = append(texts, p.Message)
		}
	}
	if len(texts) > maxMessages {
		texts = append(texts[:maxMessages:maxMessages], fmt.Sprintf("and %d more", len(texts)-maxMessages))
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
	return len(p.Denied) > 0 || p.Reason == v1alpha1.ReasonForbidden || p.Reason == v1alpha1.ReasonUnauthenticated
}

// gather collects what keeps the owner from being ready, beside what prune found.
func (p *planner) gather() {
	p.eachReported(p.blockers.add)
	for _, problem := range p.watchProblems {
		if problem != nil {
			p.blockers.add(*problem)
		}
	}
	for i := range p.children {
		switch c := &p.children[i]; {
		case c.problem != nil:
			p.blockers.add(*c.problem)
		case c.progress != "":
			p.blockers.add(Problem{Reason: c.state.Reason, Message: c.progress})
		}
	}
	p.gatherWaiting()
}

// gatherWaiting makes children that wait for each other block, which nothing else
// accounts for.
func (p *planner) gatherWaiting() {
	if len(p.blockers) > 0 {
		return
	}
	for _, c := range p.children {
		if c.state.State == Waiting {
			p.blockers.add(Problem{Reason: c.state.Reason, Message: c.state.Message})
		}
	}
}

// eachReported yields the problems that the snapshot itself reports, in a stable
// order.
func (p *planner) eachReported(yield func(Problem)) {
	for _, c := range p.program.Children {
		if in := inputOf(p.snapshot.Children, c.ID); in.Blocked != nil {
			yield(*in.Blocked)
		}
	}
	for _, w := range p.program.Watches {
		if in := inputOf(p.snapshot.Watches, w.ID); in.Blocked != nil {
			yield(*in.Blocked)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(p.snapshot.Problems)) {
		yield(p.snapshot.Problems[key])
	}
}

// denied returns the accesses that were refused, sorted, each once.
func (p *planner) denied() []v1alpha1.DeniedAccess {
	var denied []v1alpha1.DeniedAccess
	p.eachReported(func(problem Problem) { denied = append(denied, problem.Denied...) })
	slices.SortFunc(denied, func(a, b v1alpha1.DeniedAccess) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(denied)
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
