package ownerreconcile

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// takeSnapshot is what is known now. Its objects are the cache's own.
func (p *Reconciler) takeSnapshot() plan.Snapshot {
	s := p.state.inputs
	snap := plan.Snapshot{
		Owner: p.owner, Problems: p.problems, ServerNormalized: p.state.serverNormalized,
		Namespaced: s.Namespaced(), Retire: p.retire, OtherStays: p.otherStays(), Claim: p.ownershipToken(), Former: p.state.former, Lives: p.OwnerExists,
	}
	snap.Children, snap.Watches = p.Inputs.Read(s)
	p.addExisting(snap.Children)
	p.dropNormalized(snap.Children)
	p.forgetGoneKinds(snap.Children)
	snap.Standing = slices.Concat(s.StandingProblems(), p.conflictProblems())
	return snap
}

// dropNormalized forgets what the API server made of children that are gone.
func (p *Reconciler) dropNormalized(children map[plan.Location]plan.Input) {
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
func (p *Reconciler) ownershipToken() string {
	if p.state.ownershipToken == "" && p.owner != nil && p.state.inputs.MayNeedRecord {
		p.state.ownershipToken = p.Random()
	}
	return p.state.ownershipToken
}

// addExisting adds objects that the cache does not show.
func (p *Reconciler) addExisting(children map[plan.Location]plan.Input) {
	for _, m := range p.existing {
		for at, in := range children {
			if at.Namespace == m.object.GetNamespace() && p.kindAt(at, m.object.GetName()) == m.kind && !(m.before && slices.ContainsFunc(in.Objects, m.isNamed)) {
				children[at] = withExisting(in, m)
			}
		}
	}
}

// kindAt is the kind that is looked for in a place, where it may have an object of that name.
func (p *Reconciler) kindAt(at plan.Location, name string) schema.GroupVersionKind {
	for _, list := range [][]*policy.Child{p.Program.Children, p.Program.Ensured} {
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
