package ownerviews

import (
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/owners"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// View is what is used of a stream of owners: an informer.Lister. Its dynamic type must be comparable:
// equal values are the same stream.
type View interface {
	Read() ([]*unstructured.Unstructured, informer.Status)
	Status() informer.Status
	Get(namespace, name string) *unstructured.Unstructured
}

// Views are the streams of a policy's owners, and what was seen in them. They are made by New, and safe
// for concurrent use.
type Views struct {
	wants func(owner *unstructured.Unstructured) bool

	mu sync.Mutex // guards what is below; see doc.go for what it is held over
	// current are the streams by namespace. The map is replaced, never changed.
	current map[string]View
	// adopted says as of when the owners of each stream were listed; nil before the first streams.
	adopted map[string]adoptedView
	// scope is what current was made of.
	scope WatchScope
	// isResolved: it is known where owners may be watched.
	isResolved bool
	// groups are the owners that the streams show.
	groups owners.Groups
	// isSpread: they are in so many namespaces that their children are better watched in all together.
	isSpread bool
	// candidates are the namespaces in which owners are looked for one by one.
	candidates []string
	// served are the namespaces in which an owner was ever seen: that nothing may be seen there any
	// more is worth a message. A namespace that was watched together with all others leaves it with
	// its last owner.
	served map[string]bool
	// scanned are the streams of children that were looked through for owners that are gone from the
	// streams of owners, by namespace.
	scanned map[string]map[informer.Key]bool
}

// adoptedView says as of when the owners of a stream were listed.
type adoptedView struct {
	view  View
	epoch uint64 // of the stream; 0 while it is not synced
}

// New returns Views without a stream. The policy wants the owners for which wants is true; others are
// ignored. Wants is called under the lock of the Views: it must not call them.
func New(wants func(owner *unstructured.Unstructured) bool) *Views {
	return &Views{wants: wants, groups: owners.Groups{}, served: map[string]bool{}, scanned: map[string]map[informer.Key]bool{}}
}

// RequireViews declares the streams of a scope by calling require, which returns a stream for each
// namespace that it is given, and returns the streams to install. A stream of all namespaces replaces
// those of single namespaces when it is synced; until then both are declared, and it is not among the
// result. It is called by one goroutine at a time. require is called under no lock of v, and the map
// that it returns is v's to change.
func (v *Views) RequireViews(scope WatchScope, require func(namespaces []string) map[string]View) map[string]View {
	views := require(scope.streamsAfter(v.CurrentViews()))
	all, ok := views[allNamespaces]
	switch {
	case !ok || len(views) == 1:
	case all.Status().Synced:
		return require([]string{allNamespaces})
	default:
		delete(views, allNamespaces)
	}
	return views
}

// Adoption is what there is to do about owners after streams were installed.
type Adoption struct {
	// Listed are the owners in streams that are new, or were listed anew, in no order.
	Listed []types.NamespacedName
	views  map[string]View
	isNew  map[string]bool
}

// ConcernsNamespace reports whether an owner in a namespace has to be looked at: the stream that shows the
// namespace is new or was listed anew, or there is none.
func (a Adoption) ConcernsNamespace(namespace string) bool {
	stream := streamOf(a.views, namespace)
	_, seen := a.views[stream]
	return a.isNew[stream] || !seen
}

// InstallViews lists the owners and takes over the streams in one step: an owner that comes before it is
// in the list, and one that comes after it finds the streams. With all every stream counts as new. The
// map belongs to the Views from then on.
func (v *Views) InstallViews(views map[string]View, scope WatchScope, all bool) Adoption {
	v.mu.Lock()
	defer v.mu.Unlock()
	before := v.adopted
	for namespace := range v.current {
		if _, still := views[namespace]; !still {
			delete(v.scanned, namespace)
		}
	}
	if len(views) == 0 {
		clear(v.scanned)
	}
	v.current, v.scope, v.groups, v.adopted = views, scope, owners.Groups{}, map[string]adoptedView{}
	adoption := Adoption{views: views, isNew: map[string]bool{}}
	for namespace, view := range views {
		listed, status := view.Read()
		now := adoptedView{view: view}
		if status.Synced {
			now.epoch = status.Epoch
		}
		v.adopted[namespace], adoption.isNew[namespace] = now, all || before[namespace] != now
		for _, owner := range listed {
			if !v.wants(owner) {
				continue
			}
			name := types.NamespacedName{Namespace: owner.GetNamespace(), Name: owner.GetName()}
			v.groups.AddOwner(name.Namespace, name.Name)
			v.served[name.Namespace] = true
			if adoption.isNew[namespace] {
				adoption.Listed = append(adoption.Listed, name)
			}
		}
	}
	v.isSpread = v.groups.IsSpread(v.isSpread)
	return adoption
}

// RecordEvent takes in what a stream of owners says of one owner, which is one that the policy wants or
// works on. It returns the owners whose streams have to be laid out anew, in no order: those in that
// namespace, or all.
func (v *Views) RecordEvent(event informer.Event) (again []types.NamespacedName) {
	namespace, name := event.Object.GetNamespace(), event.Object.GetName()
	v.mu.Lock()
	defer v.mu.Unlock()
	var neighbors []string
	switch event.Type {
	case informer.Deleted:
		neighbors = v.groups.RemoveOwner(namespace, name)
		if event.Key.Namespace == allNamespaces && !v.groups.HasOwners(namespace) {
			delete(v.served, namespace)
		}
	case informer.Added:
		v.served[namespace] = true
		neighbors = v.groups.AddOwner(namespace, name)
	default:
		return nil
	}
	if spread := v.groups.IsSpread(v.isSpread); spread != v.isSpread {
		v.isSpread = spread
		return v.groups.AllOwners()
	}
	for _, other := range neighbors {
		again = append(again, types.NamespacedName{Namespace: namespace, Name: other})
	}
	return again
}

// SetResolved notes whether it is known where owners may be watched.
func (v *Views) SetResolved(resolved bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.isResolved = resolved
}

// SetCandidates notes the namespaces in which owners are looked for one by one; nil: in none. What was
// seen in other namespaces is forgotten, unless the candidates are nil.
func (v *Views) SetCandidates(candidates []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.candidates = candidates
	if candidates == nil {
		return
	}
	wanted := make(map[string]bool, len(candidates))
	for _, namespace := range candidates {
		wanted[namespace] = true
	}
	for namespace := range v.served {
		if !wanted[namespace] {
			delete(v.served, namespace)
		}
	}
}

// InheritServed takes over from an earlier revision in which namespaces an owner was ever seen.
func (v *Views) InheritServed(before *Views) {
	served := before.servedNamespaces()
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, namespace := range served {
		v.served[namespace] = true
	}
}

// StartScan reports whether a stream of children was not looked through before, and notes that it is.
func (v *Views) StartScan(key informer.Key) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	here := v.scanned[key.Namespace]
	if here == nil {
		here = map[informer.Key]bool{}
		v.scanned[key.Namespace] = here
	}
	before := here[key]
	here[key] = true
	return !before
}

// ForgetScans forgets which streams of children in a namespace were looked through.
func (v *Views) ForgetScans(namespace string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	delete(v.scanned, namespace)
}
