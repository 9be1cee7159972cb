package plan

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// alone says whether no other child wants the same object; if one does, both are
// blocked.
func (p *planner) alone(c *child) bool {
	for i := range p.children {
		other := &p.children[i]
		if other == c || other.desired == nil || other.state.Name != c.state.Name || other.GVK.GroupKind() != c.GVK.GroupKind() {
			continue
		}
		a, b := min(c.ID, other.ID), max(c.ID, other.ID)
		problem := &Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true,
			Message: fmt.Sprintf("children %q and %q are both %s", a, b, c.name())}
		other.block(problem)
		return c.block(problem)
	}
	return true
}

// match finds the live object, and says whether to go on and compare.
func (p *planner) match(c *child) bool {
	in := inputOf(p.snapshot.Children, c.ID)
	live := find(in.Objects, c.desired.GetNamespace(), c.state.Name)
	ours := live != nil && IsOurs(live, p.snapshot.Owner.GetUID())
	if ours {
		c.live = live
		p.scope.vars[c.ID] = live.Object
	}
	problem, failed := p.snapshot.Problems[c.ID]
	switch {
	case in.Blocked != nil:
		return c.block(in.Blocked)
	case failed:
		return c.block(&problem)
	case live == nil:
		c.act(Action{Verb: Create, Reason: "is missing"})
		return false
	case !ours:
		return c.block(NameConflict(live))
	case isDeleting(live):
		c.advance("waiting for "+c.name()+" to be gone, to make it anew", "is being deleted")
		c.state.State, c.state.Reason = Deleting, v1alpha1.ReasonDeleting
		return false
	}
	return true
}

// compare says whether the live object is as desired.
func (p *planner) compare(c *child) bool {
	differences, migrate := compare(c.desired, c.live, v1alpha1.FieldManager(p.program.Name))
	if len(differences) == 0 {
		return true
	}
	digest := Digest(differences)
	if p.snapshot.Settled[c.live.GetUID()] == digest {
		return true
	}
	c.act(Action{
		Verb: Apply, UID: c.live.GetUID(), ResourceVersion: c.live.GetResourceVersion(),
		Migrate: migrate, Reason: reasonOf(differences), Digest: digest,
	})
	return false
}

// act notes the action that the child needs.
func (c *child) act(a Action) {
	a.Child, a.GVK, a.Namespace, a.Name, a.Object = c.ID, c.GVK, c.desired.GetNamespace(), c.state.Name, c.desired
	c.action = &a
	separator := " "
	if a.Verb == Apply {
		separator = ": "
	}
	c.advance(c.name()+separator+a.Reason, a.Reason)
}

// maxReasons is how many differences a reason lists.
const maxReasons = 3

// reasonOf lists differences. The record is a difference for people only where
// it is the only one.
func reasonOf(differences []Difference) string {
	if len(differences) > 1 {
		differences = slices.DeleteFunc(slices.Clone(differences), Difference.isRecord)
	}
	texts := make([]string, 0, maxReasons+1)
	for i, d := range differences {
		if i == maxReasons {
			texts = append(texts, fmt.Sprintf("and %d more", len(differences)-maxReasons))
			break
		}
		texts = append(texts, d.String())
	}
	return strings.Join(texts, "; ")
}

func find(objects []*unstructured.Unstructured, namespace, name string) *unstructured.Unstructured {
	for _, obj := range objects {
		if obj.GetName() == name && obj.GetNamespace() == namespace {
			return obj
		}
	}
	return nil
}
