package controller

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// How long an owner's reconciles wait for the first list of a stream before they go
// on and say in the status what they wait for: an owner without a status, and
// one whose status stands, as after a restart.
const (
	syncGrace      = 2 * time.Second
	syncGraceKnown = 30 * time.Second
)

// takeSnapshot is what is known now. Its objects are the cache's own.
func (p *ownerReconciler) takeSnapshot() plan.Snapshot {
	s := p.state.inputs
	r := inputReader{ownerReconciler: p, inputs: make([]*plan.Input, len(s.needs))}
	snap := plan.Snapshot{
		Owner: p.owner, Problems: p.problems, ServerNormalized: p.state.serverNormalized,
		Namespaced: s.namespaced, Retire: p.retire, OtherStays: p.otherStays(), Claim: p.ownershipToken(), Former: p.state.former, Lives: p.ownerExists,
		Children: make(map[plan.Location]plan.Input, len(s.children)),
		Watches:  make(map[string]plan.Input, len(s.watches)),
	}
	for at, from := range s.children {
		snap.Children[at] = r.readInput(from, at.Namespace)
	}
	for id, from := range s.watches {
		snap.Watches[id] = r.readInput(from, from.namespace)
	}
	p.addExisting(snap.Children)
	p.dropNormalized(snap.Children)
	p.forgetGoneKinds(snap.Children)
	snap.Standing = slices.Concat(s.standingProblems(), p.conflictProblems())
	return snap
}

// dropNormalized forgets what the API server made of children that are gone.
func (p *ownerReconciler) dropNormalized(children map[plan.Location]plan.Input) {
	if len(p.state.serverNormalized) == 0 {
		return
	}
	there := map[types.UID]bool{}
	for _, in := range children {
		if in.Blocked != nil {
			return // it is not known
		}
		for _, obj := range in.Objects {
			there[obj.GetUID()] = true
		}
	}
	maps.DeleteFunc(p.state.serverNormalized, func(uid types.UID, _ string) bool { return !there[uid] })
}

// ownershipToken is random text for an owner that may come to need a record; the same as long as
// the controller remembers the owner.
func (p *ownerReconciler) ownershipToken() string {
	if p.state.ownershipToken == "" && p.owner != nil && p.state.inputs.records {
		p.state.ownershipToken = p.controller.options.Random()
	}
	return p.state.ownershipToken
}

// inputReader reads slots; needs that several slots have are read once.
type inputReader struct {
	*ownerReconciler
	inputs []*plan.Input
	spaces map[int]map[string][]*unstructured.Unstructured // of wide needs, by namespace
}

// readInput returns the input of a slot, of which a wide one is narrowed to a namespace.
func (r *inputReader) readInput(from inputSource, namespace string) plan.Input {
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
			if !from.scoped || !slices.Contains(r.program.Exclude, obj.GetNamespace()) {
				all.Objects = append(all.Objects, obj)
			}
		}
	}
	return all
}

// readNarrow returns what a wide need shows of one namespace.
func (r *inputReader) readNarrow(need int, namespace string) plan.Input {
	in := r.readInterest(need)
	if in.Blocked != nil {
		return in
	}
	byName, ok := r.spaces[need]
	if !ok {
		byName = map[string][]*unstructured.Unstructured{}
		for _, obj := range in.Objects {
			byName[obj.GetNamespace()] = append(byName[obj.GetNamespace()], obj)
		}
		if r.spaces == nil {
			r.spaces = map[int]map[string][]*unstructured.Unstructured{}
		}
		r.spaces[need] = byName
	}
	return plan.Input{Objects: byName[namespace]}
}

func (r *inputReader) readInterest(i int) plan.Input {
	if r.inputs[i] == nil {
		s := r.state.inputs
		input := r.inputOf(s.needs[i], s.views[i])
		r.inputs[i] = &input
	}
	return *r.inputs[i]
}

// addExisting adds objects that the cache does not show.
func (p *ownerReconciler) addExisting(children map[plan.Location]plan.Input) {
	for _, m := range p.existing {
		for at, in := range children {
			if at.Namespace == m.object.GetNamespace() && p.kindAt(at, m.object.GetName()) == m.kind && !(m.before && slices.ContainsFunc(in.Objects, m.isNamed)) {
				children[at] = withExisting(in, m)
			}
		}
	}
}

// kindAt is the kind that is looked for in a place, where it may have an object of that name.
func (p *ownerReconciler) kindAt(at plan.Location, name string) schema.GroupVersionKind {
	for _, list := range [][]*policy.Child{p.program.Children, p.program.Ensured} {
		for _, child := range list {
			if child.ID == at.Child {
				return child.GVK
			}
		}
	}
	for _, want := range p.state.queries { // what is left of a child that the policy no longer has
		if want.Location == at && (want.Names == nil || slices.Contains(want.Names, name)) {
			return want.GVK
		}
	}
	return schema.GroupVersionKind{}
}

// withExisting adds an object that the cache does not show to an input.
func withExisting(in plan.Input, m existingObject) plan.Input {
	in.Objects = append(slices.DeleteFunc(slices.Clone(in.Objects), m.isNamed), m.object)
	return in
}

func (op *policyController) inputOf(need informer.Interest, view informer.Lister) plan.Input {
	objects, status := view.Read()
	if status.Synced {
		return plan.Input{Objects: objects}
	}
	return plan.Input{Blocked: op.inputProblem(need.Key, status)}
}

// inputProblem says why a stream has nothing to show.
func (op *policyController) inputProblem(key informer.Key, status informer.Status) *plan.Problem {
	what := placeText(key)
	switch status.State {
	case informer.Forbidden:
		return &plan.Problem{
			Reason: v1alpha1.ReasonForbidden, Terminal: true,
			Message: fmt.Sprintf("cannot list, watch %s as %s", what, op.userName()),
			Denied:  deniedAccess(key, status.Message, "list", "watch"),
		}
	case informer.Unauthenticated:
		return &plan.Problem{Reason: v1alpha1.ReasonUnauthenticated, Terminal: true,
			Message: fmt.Sprintf("the API server does not accept the identity for watching %s: %s", what, status.Message)}
	case informer.Missing:
		return &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true, Gone: op.controller.discovery.ConfirmGone(key.GVR, status.Since),
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

// isSyncing says whether a stream among the sources may still deliver its first list
// soon; and, if none, how long to wait because one was refused so short a while ago
// that a review may not have confirmed it.
func (s *ownerInputs) isSyncing(now time.Time) (syncing bool, doubtful time.Duration) {
	for _, view := range s.views {
		switch status := view.Status(); {
		case status.Synced:
		case !status.State.IsFinal():
			return true, 0
		case status.State == informer.Forbidden:
			doubtful = max(doubtful, placepermissions.ConfirmGrace-now.Sub(status.Since))
		}
	}
	return false, doubtful
}
