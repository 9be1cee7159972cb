package ownerinputs

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// ReadInputs returns what the streams of inputs show now: by the place of a child, and by the id of a watch.
// The maps are the caller's; the objects are the cache's own, and not to be changed.
func (p *Planner) ReadInputs(s *Inputs) (children map[plan.Location]plan.Input, watches map[string]plan.Input) {
	r := reader{planner: p, inputs: s, read: make([]*plan.Input, len(s.listers))}
	children = make(map[plan.Location]plan.Input, len(s.children))
	for _, c := range s.children {
		children[c.at] = r.readSource(c.source, c.at.Namespace)
	}
	watches = make(map[string]plan.Input, len(s.watches))
	for i, from := range s.watches {
		watches[p.Program.Watches[i].ID] = r.readSource(from, from.namespace)
	}
	return children, watches
}

// reader reads sources; interests that several of them have are read once.
type reader struct {
	planner     *Planner
	inputs      *Inputs
	read        []*plan.Input                                     // by interest
	byNamespace map[int32]map[string][]*unstructured.Unstructured // what wide interests show
}

// readSource returns the input of a source, of which a wide one is narrowed to a namespace.
func (r *reader) readSource(from source, namespace string) plan.Input {
	switch {
	case from.problem != nil:
		return plan.Input{Blocked: from.problem}
	case from.wide:
		return r.readNarrow(from.from, namespace)
	case from.to == from.from+1 && !from.scoped:
		return r.readInterest(from.from)
	}
	var all plan.Input
	for i := from.from; i < from.to; i++ {
		in := r.readInterest(i)
		if in.Blocked != nil && !(from.lenient && in.Blocked.Reason == v1alpha1.ReasonForbidden) {
			return in
		}
		for _, obj := range in.Objects {
			if !from.scoped || !slices.Contains(r.planner.Program.Exclude, obj.GetNamespace()) {
				all.Objects = append(all.Objects, obj)
			}
		}
	}
	return all
}

// readNarrow returns what a wide interest shows of one namespace.
func (r *reader) readNarrow(i int32, namespace string) plan.Input {
	in := r.readInterest(i)
	if in.Blocked != nil {
		return in
	}
	objects, ok := r.byNamespace[i]
	if !ok {
		objects = map[string][]*unstructured.Unstructured{}
		for _, obj := range in.Objects {
			objects[obj.GetNamespace()] = append(objects[obj.GetNamespace()], obj)
		}
		if r.byNamespace == nil {
			r.byNamespace = map[int32]map[string][]*unstructured.Unstructured{}
		}
		r.byNamespace[i] = objects
	}
	return plan.Input{Objects: objects[namespace]}
}

func (r *reader) readInterest(i int32) plan.Input {
	if r.read[i] == nil {
		input := plan.Input{}
		objects, status := r.inputs.listers[i].Read()
		if status.Synced {
			input.Objects = objects
		} else {
			input.Blocked = r.planner.inputProblem(r.inputs.streams[i].openInterest().Key, status)
		}
		r.read[i] = &input
	}
	return *r.read[i]
}

// inputProblem says why a stream has nothing to show.
func (p *Planner) inputProblem(key informer.Key, status informer.Status) *plan.Problem {
	what := placeText(key)
	switch status.State {
	case informer.Forbidden:
		return &plan.Problem{
			Reason: v1alpha1.ReasonForbidden, Terminal: true,
			Message: fmt.Sprintf("cannot list, watch %s as %s", what, p.User),
			Denied:  deniedAccess(key, status.Message, "list", "watch"),
		}
	case informer.Unauthenticated:
		return &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Terminal: true,
			Message: fmt.Sprintf("the API server does not accept the identity for watching %s: %s", what, status.Message)}
	case informer.Missing:
		return &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true, Gone: p.IsGone(key.GVR, status.Since),
			Message: fmt.Sprintf("the API server does not serve %s", what)}
	case informer.Invalid:
		return &plan.Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true,
			Message: fmt.Sprintf("the API server refuses to watch %s: %s", what, status.Message)}
	case informer.Degraded:
		return &plan.Problem{Reason: v1alpha1.ReasonUnavailable,
			Message: fmt.Sprintf("watching %s: %s", what, status.Message)}
	}
	return &plan.Problem{Reason: v1alpha1.ReasonSyncing, Message: fmt.Sprintf("waiting for the first list of %s", what)}
}

// placeText names what a stream shows, as in: pods in namespace "a".
func placeText(key informer.Key) string {
	var b strings.Builder
	b.WriteString(key.GVR.GroupResource().String())
	if key.Namespace != allNamespaces {
		fmt.Fprintf(&b, " in namespace %q", key.Namespace)
	}
	return b.String()
}

func deniedAccess(key informer.Key, message string, verbs ...string) []v1alpha1.DeniedAccess {
	list := make([]v1alpha1.DeniedAccess, len(verbs))
	for i, verb := range verbs {
		list[i] = v1alpha1.DeniedAccess{Verb: verb, Group: key.GVR.Group, Resource: key.GVR.Resource, Namespace: key.Namespace, Message: message}
	}
	return list
}
