package plan

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/madevalues"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// child is what is known of one child while the plan is made.
type child struct {
	*policy.Child
	stage stage
	// state and problem are those of the child as a whole, where it has no instances.
	state   ChildState
	problem *Problem
	// unwanted: it is certain that the child is not wanted.
	unwanted bool
	// unseen is why a place of it cannot be seen, if that was found only when it was shown while it waits.
	unseen *Problem
	// listed: all its instances are there, so that it is known how many there are.
	listed bool
	// instances are the objects of the child; one is the room for a single one.
	instances []instance
	one       [1]instance
}

// stage is how far a child or an instance is decided.
type stage int

const (
	undecided stage = iota
	resolving
	existing // nothing is to be written; whether it is ready is not known yet
	evaluating
	decided
)

// instance is what is known of one object of a child while the plan is made.
type instance struct {
	state ChildState
	stage stage
	// element is that of forEach, and number its place in the list.
	element   any
	number    int
	at        Location
	ownership ownership
	// desired is nil until it could be rendered, found is the observed object of that
	// name, and live is that if it is ours, or merged.
	desired, found, live *unstructured.Unstructured
	// values are those that are made for it; nil for none.
	values *madevalues.Request
	// action is what the object itself needs; nil for nothing.
	action *Action
	// problem is what blocks the object; nil unless it is Blocked.
	problem *Problem
	// progress says what is waited for, for conditions; empty if nothing.
	progress string
}

func (c *child) isReady() bool {
	if len(c.instances) == 0 {
		return c.state.State == Ready
	}
	return c.firstNotReady() == nil
}

func (c *child) firstNotReady() *instance {
	for i := range c.instances {
		if c.instances[i].state.State != Ready {
			return &c.instances[i]
		}
	}
	return nil
}

// overallState is the state of the child as a whole: that of the first object that is
// not ready.
func (c *child) overallState() ChildState {
	if it := c.firstNotReady(); it != nil {
		return it.state
	}
	if len(c.instances) > 0 {
		return c.instances[0].state
	}
	return c.state
}

// unnamedState is the state of the first object of which it is not known which one is wanted, or that of the
// child as a whole.
func (c *child) unnamedState() ChildState {
	if i := slices.IndexFunc(c.instances, func(it instance) bool { return it.desired == nil }); i >= 0 {
		return c.instances[i].state
	}
	return c.overallState()
}

// hasKnownNames reports whether it is known which objects the child wants.
func (c *child) hasKnownNames() bool {
	if c.unwanted {
		return true
	}
	return c.listed && !slices.ContainsFunc(c.instances, func(it instance) bool { return it.desired == nil })
}

// objectName is as in `Deployment "web"`; with the namespace where that need not be the
// owner's.
func (c *child) objectName(it *instance) string {
	if it.state.Namespace != "" && c.CrossNamespace {
		return fmt.Sprintf("%s %q in namespace %q", c.GVK.Kind, it.state.Name, it.state.Namespace)
	}
	return fmt.Sprintf("%s %q", c.GVK.Kind, it.state.Name)
}

// inElement says in which element of a list a problem is.
func (c *child) inElement(it *instance, problem *Problem) *Problem {
	if c.ForEach == nil || it.state.Name != "" {
		return problem
	}
	located := *problem
	located.Message += fmt.Sprintf(" (element %d of child %q)", it.number, c.ID)
	return &located
}

// markBlocked notes that something has to change first. It returns false.
func (c *child) markBlocked(problem *Problem) bool {
	c.problem = problem
	c.state.State, c.state.Reason, c.state.Message = Blocked, problem.Reason, problem.Message
	return false
}

func (c *child) markUnwanted(why string) {
	c.unwanted = true
	c.state.State, c.state.Message = Absent, why
}

func (c *child) waitFor(root *child) {
	c.state.State, c.state.Reason = Waiting, v1alpha1.ReasonProgressing
	c.state.Message = fmt.Sprintf("waiting for child %q", root.ID)
	if message := root.overallState().Message; message != "" {
		c.state.Message += ": " + message
	}
}

// markBlocked notes that something has to change first. It returns false.
func (it *instance) markBlocked(problem *Problem) bool {
	it.problem, it.action, it.progress, it.stage = problem, nil, "", decided
	it.state.State, it.state.Reason, it.state.Message = Blocked, problem.Reason, problem.Message
	return false
}

// markProgressing notes that the object is on its way: progress in short and stable words
// for conditions, detail for whoever looks at the child.
func (it *instance) markProgressing(progress, detail string) {
	it.progress = progress
	it.state.State, it.state.Reason, it.state.Message = NotReady, v1alpha1.ReasonProgressing, detail
}

// markFailed notes that the object will not become ready before somebody acts; what it waits for is said
// as in markProgressing.
func (it *instance) markFailed(progress, detail string) {
	it.markProgressing(progress, detail)
	it.state.Reason = v1alpha1.ReasonChildFailed
}

// holdBack keeps the action of each object until all before it are ready.
func (c *child) holdBack() {
	var first *instance
	for i := range c.instances {
		it := &c.instances[i]
		if first != nil && it.action != nil {
			it.action, it.progress = nil, ""
			it.state.State, it.state.Message = Waiting, fmt.Sprintf("waiting for %s, which comes before it", c.objectName(first))
		}
		if first == nil && it.state.State != Ready {
			first = it
		}
	}
}
