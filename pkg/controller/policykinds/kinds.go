// Package policykinds knows how the kinds are served that one policy has to do with: those that it
// names, and those that only the records of its owners name.
//
// A Kinds looks kinds up in the cache of package discovery, and says as a problem of the plan why one
// cannot be used. It counts which owner needs a kind that the policy does not name (package
// recordedkinds): it is looked up as long as one does. The caller
//
//   - calls ResolveFor, or RetainKind, before it works with a kind for an owner.
//   - calls ReleaseKinds when it knows what an owner needs, and ReleaseAllKinds when it is gone.
//
// It makes no request and waits for nothing.
package policykinds

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/recordedkinds"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Kinds are the kinds of one policy. Create it with New. It is safe for concurrent use; what is said of
// one owner is said by one goroutine at a time.
type Kinds struct {
	program   *policy.Program
	discovery *discovery.Cache
	released  func(gone []schema.GroupVersionKind)
	named     map[schema.GroupVersionKind]bool
	recorded  recordedkinds.Index
}

// New returns the kinds of a policy. released is told of kinds that no owner of the policy needs any
// more, which may be none; it is called under no lock.
func New(program *policy.Program, cache *discovery.Cache, released func(gone []schema.GroupVersionKind)) *Kinds {
	k := &Kinds{program: program, discovery: cache, released: released, named: map[schema.GroupVersionKind]bool{}}
	for _, gvk := range k.NamedKinds() {
		k.named[gvk] = true
	}
	return k
}

// NamedKinds returns the kinds that the policy names: of its owners, children and watches.
func (k *Kinds) NamedKinds() []schema.GroupVersionKind {
	var kinds []schema.GroupVersionKind
	for _, n := range k.program.Needs() {
		kinds = append(kinds, n.GVK)
	}
	return kinds
}

// AllKinds returns the kinds that are needed: those that the policy names, and those of records.
func (k *Kinds) AllKinds() []schema.GroupVersionKind {
	return append(k.NamedKinds(), k.recorded.AllKinds()...)
}

// HaveLookedUp reports whether every kind that the policy names was looked up at least once, so that
// the first reconcile over an owner does not take a kind for missing. It has them looked up.
func (k *Kinds) HaveLookedUp() bool { return k.discovery.LookupKinds(k.NamedKinds()) }

// ConcernsAny reports whether the policy names one of these kinds, or has made objects of one that is
// served.
func (k *Kinds) ConcernsAny(kinds map[schema.GroupKind]bool) bool {
	return slices.ContainsFunc(k.NamedKinds(), func(gvk schema.GroupVersionKind) bool { return kinds[gvk.GroupKind()] }) ||
		slices.ContainsFunc(k.recorded.AllKinds(), func(gvk schema.GroupVersionKind) bool {
			_, known, _ := k.discovery.LookupKnown(gvk)
			return known && kinds[gvk.GroupKind()]
		})
}

// OwnersOf returns the owners whose records name one of these kinds, where the policy does not.
func (k *Kinds) OwnersOf(kinds map[schema.GroupKind]bool) []types.NamespacedName {
	return k.recorded.OwnersOf(kinds)
}

// LookupKind is discovery.Cache.LookupKind. Nobody waits for a kind that the policy does not name, but its
// owner: that is looked up lazily.
func (k *Kinds) LookupKind(gvk schema.GroupVersionKind) (discovery.Resource, bool, error) {
	if k.named[gvk] {
		return k.discovery.LookupKind(gvk)
	}
	return k.discovery.LookupLazily(gvk)
}

// ResolveKind returns the resource of a kind, or the problem that it cannot be used. A kind that is
// served in another version only has both.
func (k *Kinds) ResolveKind(gvk schema.GroupVersionKind) (discovery.Resource, *plan.Problem) {
	found, ok, err := k.LookupKind(gvk)
	var other *discovery.OtherVersionError
	switch {
	case ok:
		return found, nil
	case meta.IsNoMatchError(err):
		return discovery.Resource{}, &plan.Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true, Gone: true,
			Message: fmt.Sprintf("the API server does not serve kind %s in %s", gvk.Kind, gvk.GroupVersion())}
	case errors.As(err, &other):
		return other.Resource, &plan.Problem{Reason: v1alpha1.ReasonInvalid, Terminal: true,
			Message: other.Error() + ": the policy has to name that version"}
	case err != nil:
		return discovery.Resource{}, &plan.Problem{Reason: v1alpha1.ReasonUnavailable,
			Message: fmt.Sprintf("looking up kind %s in %s: %v", gvk.Kind, gvk.GroupVersion(), err)}
	}
	return discovery.Resource{}, &plan.Problem{Reason: v1alpha1.ReasonSyncing,
		Message: fmt.Sprintf("looking up kind %s in %s", gvk.Kind, gvk.GroupVersion())}
}

// ResolveFor is ResolveKind for an owner, which needs the kind from now on. The problem is that of
// TooManyKinds if the kind is not to be looked up for now.
func (k *Kinds) ResolveFor(owner types.NamespacedName, gvk schema.GroupVersionKind) (discovery.Resource, *plan.Problem) {
	if !k.RetainKind(owner, gvk) {
		return discovery.Resource{}, TooManyKinds()
	}
	return k.ResolveKind(gvk)
}

// RetainKind notes that an owner needs a kind. It is called before the kind is looked up: see package
// discovery. It returns false if the kind is not to be looked up for now.
func (k *Kinds) RetainKind(owner types.NamespacedName, gvk schema.GroupVersionKind) bool {
	if k.named[gvk] {
		return true
	}
	gone, ok := k.recorded.AddKind(owner, gvk, k.isAnswered)
	k.released(gone)
	return ok
}

// isAnswered reports whether it is known how a kind is served, or that it is not.
func (k *Kinds) isAnswered(gvk schema.GroupVersionKind) bool {
	_, known, err := k.discovery.LookupKnown(gvk)
	return known || discovery.IsUnserved(err)
}

// ReleaseKinds has kinds no longer looked up that only this owner needed, and needs no more. isNeeded
// says which it still does.
func (k *Kinds) ReleaseKinds(owner types.NamespacedName, isNeeded func(schema.GroupVersionKind) bool) {
	k.released(k.recorded.RetainKinds(owner, isNeeded))
}

// ReleaseAllKinds is ReleaseKinds for an owner that needs nothing.
func (k *Kinds) ReleaseAllKinds(owner types.NamespacedName) {
	k.ReleaseKinds(owner, func(schema.GroupVersionKind) bool { return false })
}

// LookupAnyVersion is discovery.Cache.LookupAnyVersion.
func (k *Kinds) LookupAnyVersion(gvk schema.GroupVersionKind) (discovery.Resource, bool) {
	return k.discovery.LookupAnyVersion(gvk)
}

// IsNamespaced reports whether a kind lives in namespaces; one that is not known yet is taken to.
func (k *Kinds) IsNamespaced(gvk schema.GroupVersionKind) bool {
	found, ok := k.discovery.LookupAnyVersion(gvk)
	return !ok || found.Namespaced
}

// ResourceOf returns the resource of a kind, in any version; false: it is not known.
func (k *Kinds) ResourceOf(gvk schema.GroupVersionKind) (schema.GroupResource, bool) {
	found, ok := k.discovery.LookupAnyVersion(gvk)
	return found.GVR.GroupResource(), ok
}

// ResourceNeeds returns what the policy needs, of the kinds that are known by now, and whether that is
// all. isOwnerClusterScoped says whether its owners are in no namespace.
func (k *Kinds) ResourceNeeds(isOwnerClusterScoped bool) (list []placepermissions.Need, complete bool) {
	complete = true
	for _, n := range k.program.NeedsFor(k.IsNamespaced) {
		found, ok := k.discovery.LookupAnyVersion(n.GVK)
		if !ok {
			complete = false
			continue
		}
		elsewhere := n.Elsewhere || !found.Namespaced && !isOwnerClusterScoped
		list = placepermissions.AddNeed(list, placepermissions.Need{Need: n, Resource: found.GVR.GroupResource(), Elsewhere: elsewhere})
	}
	return list, complete
}

// TooManyKinds returns the problem of an owner whose record names more unknown kinds than are looked up
// at a time.
func TooManyKinds() *plan.Problem {
	return &plan.Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: fmt.Sprintf(
		"the annotation %s names more kinds that the policy does not have than are looked up at a time: %d for an owner, %d for the policy; the rest waits until there is an answer",
		v1alpha1.AnnotationChildren, recordedkinds.OwnerLimit, recordedkinds.PolicyLimit)}
}
