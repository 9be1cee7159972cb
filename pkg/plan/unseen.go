package plan

import (
	"cmp"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// undecidedText says why a child may want any object of its kind.
func undecidedText(c *child) string {
	if c.overallState().State == Blocked {
		return fmt.Sprintf("child %q cannot be rendered", c.ID)
	}
	return fmt.Sprintf("child %q is not rendered yet", c.ID)
}

func unseenText(gvk schema.GroupVersionKind, problem *Problem) string {
	return fmt.Sprintf("objects of kind %s cannot be seen: %s", gvk.Kind, problem.Message)
}

// forgetBlocked takes what cannot be seen out of the scope, for status and
// conditions: an expression that reads it fails, instead of taking it for absent.
// One that decides before it reads it (`size(access.denied) > 0 ? ...`) does not.
func (p *reporter) forgetBlocked() {
	for i, w := range p.program.Watches {
		if problem := p.watchProblems[i]; problem != nil {
			p.hideFromScope(w.ID, problem)
		}
	}
	for _, v := range p.program.Variables {
		if problem := p.watchProblem(v.Watches); problem != nil {
			p.hideFromScope(v.Name, problem)
		}
	}
	for i := range p.children {
		c := &p.children[i]
		if problem := cmp.Or(p.blockedPlace(c), c.unseen); problem != nil {
			p.hideFromScope(c.ID, problem)
		}
	}
}

// forgetUnnamed takes children out of the scope that could not be rendered, where there may be objects of
// them: which these are is not known, and an expression must not take them for absent.
func (p *reporter) forgetUnnamed() {
	for i := range p.children {
		c := &p.children[i]
		if !c.hasKnownNames() && !p.evaluation.IsHidden(c.ID) && p.mayHaveObjects(c) {
			p.hideFromScope(c.ID, &Problem{Reason: v1alpha1.ReasonProtected,
				Message: fmt.Sprintf("which objects child %q has cannot be said: %s", c.ID, c.unnamedState().Message)})
		}
	}
}

// mayHaveObjects reports whether an object that is ours, and that no child is known to want, may be one of
// the child.
func (p *reporter) mayHaveObjects(c *child) bool {
	for at, in := range p.snapshot.Children {
		if at.Child != c.ID {
			continue
		}
		if in.Blocked != nil {
			return true
		}
		for _, obj := range in.Objects {
			key := inventory.ObjectKey{Kind: c.GVK.GroupKind(), Namespace: obj.GetNamespace(), Name: obj.GetName()}
			if _, isNamed := p.names.findWanted(key); !isNamed && p.isOurs(c.GVK, obj) {
				return true
			}
		}
	}
	return slices.ContainsFunc(p.inventory.Entries, func(e inventory.Entry) bool { // in a place that is not looked at yet
		_, isObserved := p.snapshot.Children[p.locationOf(e)]
		return e.Child == c.ID && !isObserved
	})
}

func (p *reporter) hideFromScope(id string, problem *Problem) {
	p.evaluation.HideVariable(id, problem)
	delete(p.ready, id)
}
