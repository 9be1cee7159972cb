package ownerreconcile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// snapshotReader says what a run knows.
type snapshotReader struct{ *Reconciler }

// takeSnapshot is what is known now. Its objects are the cache's own.
func (r snapshotReader) takeSnapshot() plan.Snapshot {
	s := r.state.inputs
	snap := plan.Snapshot{
		Owner: r.owner, Problems: r.problems, ServerNormalized: r.state.serverNormalized,
		Namespaced: s.NamespacedKinds(), Retire: r.retire, OtherStays: r.otherStays(), Claim: r.ownershipToken(), Former: r.state.former, Lives: r.OwnerExists, Now: r.Now(),
	}
	snap.Children, snap.Watches = r.Inputs.ReadInputs(s)
	r.addExisting(snap.Children)
	r.dropNormalized(snap.Children)
	r.forgetGoneKinds(snap.Children)
	snap.Standing = slices.Concat(s.StandingProblems(), r.conflictProblems())
	return snap
}

// dropNormalized forgets what the API server made of children that are gone.
func (r snapshotReader) dropNormalized(children map[plan.Location]plan.Input) {
	if len(r.state.serverNormalized) == 0 {
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
	maps.DeleteFunc(r.state.serverNormalized, func(uid types.UID, _ string) bool { return !there[uid] })
}

// ownershipToken is random text for an owner that may come to need a record; the same as long as
// the controller remembers the owner.
func (r snapshotReader) ownershipToken() string {
	if r.state.ownershipToken == "" && r.owner != nil && r.state.inputs.MayNeedRecord {
		r.state.ownershipToken = r.Random()
	}
	return r.state.ownershipToken
}

// addExisting adds objects that the cache does not show.
func (r snapshotReader) addExisting(children map[plan.Location]plan.Input) {
	for _, m := range r.existing {
		for at, in := range children {
			if at.Namespace == m.object.GetNamespace() && r.kindAt(at, m.object.GetName()) == m.kind && !(m.before && slices.ContainsFunc(in.Objects, m.isNamed)) {
				children[at] = withExisting(in, m)
			}
		}
	}
}

// kindAt is the kind that is looked for in a place, where it may have an object of that name.
func (r snapshotReader) kindAt(at plan.Location, name string) schema.GroupVersionKind {
	for _, list := range [][]*policy.Child{r.Program.Children, r.Program.Ensured} {
		for _, child := range list {
			if child.ID == at.Child {
				return child.GVK
			}
		}
	}
	for _, want := range r.state.queries { // what is left of a child that the policy no longer has
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
