package engine

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/watch"
)

// How long an owner's passes wait for the first list of a stream before they go
// on and say in the status what they wait for: an owner without a status, and
// one whose status stands, as after a restart.
const (
	syncGrace      = 2 * time.Second
	syncGraceKnown = 30 * time.Second
)

// snapshot is what is known now. Its objects are the cache's own.
func (p *pass) snapshot() plan.Snapshot {
	s := p.state.sources
	snap := plan.Snapshot{
		Owner: p.owner, Problems: p.problems, Settled: p.state.settled,
		Children: make(map[string]plan.Input, len(s.children)),
		Watches:  make(map[string]plan.Input, len(s.watches)),
	}
	inputs := make([]*plan.Input, len(s.needs)) // children of one kind share their input
	read := func(at slot) plan.Input {
		if at.problem != nil {
			return plan.Input{Blocked: at.problem}
		}
		if inputs[at.need] == nil {
			input := p.input(s.needs[at.need], s.views[at.need])
			inputs[at.need] = &input
		}
		return *inputs[at.need]
	}
	for _, child := range p.program.Children {
		snap.Children[child.ID] = withMet(read(s.children[child.ID]), p.met[child.GVK])
	}
	for id, at := range s.watches {
		snap.Watches[id] = read(at)
	}
	return snap
}

// withMet adds objects that the cache does not show to an input.
func withMet(in plan.Input, met []*unstructured.Unstructured) plan.Input {
	if len(met) == 0 {
		return in
	}
	in.Objects = slices.DeleteFunc(slices.Clone(in.Objects), func(obj *unstructured.Unstructured) bool {
		return slices.ContainsFunc(met, func(m *unstructured.Unstructured) bool { return m.GetName() == obj.GetName() })
	})
	in.Objects = append(in.Objects, met...)
	return in
}

func (op *operator) input(need watch.Need, view watch.View) plan.Input {
	objects, status := view.Read()
	if status.Synced {
		return plan.Input{Objects: objects}
	}
	return plan.Input{Blocked: op.blocked(need.Key, status)}
}

// blocked says why a stream has nothing to show.
func (op *operator) blocked(key watch.Key, status watch.Status) *plan.Problem {
	what := where(key)
	switch status.State {
	case watch.Forbidden:
		return &plan.Problem{
			Reason: v1alpha1.ReasonForbidden, Terminal: true,
			Message: fmt.Sprintf("cannot list, watch %s as %s", what, op.engine.options.Identity),
			Denied:  denied(key, status.Message, "list", "watch"),
		}
	case watch.Unauthenticated:
		return &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Terminal: true,
			Message: fmt.Sprintf("the API server does not accept the identity for watching %s: %s", what, status.Message)}
	case watch.Missing:
		return &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true,
			Message: fmt.Sprintf("the API server does not serve %s", what)}
	case watch.Invalid:
		return &plan.Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true,
			Message: fmt.Sprintf("the API server refuses to watch %s: %s", what, status.Message)}
	case watch.Degraded:
		return &plan.Problem{Reason: v1alpha1.ReasonUnavailable,
			Message: fmt.Sprintf("watching %s: %s", what, status.Message)}
	}
	return &plan.Problem{Reason: v1alpha1.ReasonSyncing, Message: fmt.Sprintf("waiting for the first list of %s", what)}
}

// where names what a stream shows, as in: pods in namespace "a".
func where(key watch.Key) string {
	var b strings.Builder
	b.WriteString(key.GVR.GroupResource().String())
	if key.Namespace != allNamespaces {
		fmt.Fprintf(&b, " in namespace %q", key.Namespace)
	}
	return b.String()
}

func denied(key watch.Key, message string, verbs ...string) []v1alpha1.DeniedAccess {
	list := make([]v1alpha1.DeniedAccess, len(verbs))
	for i, verb := range verbs {
		list[i] = v1alpha1.DeniedAccess{Verb: verb, Group: key.GVR.Group, Resource: key.GVR.Resource, Namespace: key.Namespace, Message: message}
	}
	return list
}

// syncing says whether a stream among the sources may still deliver its first
// list soon.
func (s *sources) syncing() bool {
	for _, view := range s.views {
		if status := view.Status(); !status.Synced && !status.State.Final() {
			return true
		}
	}
	return false
}
