package sim

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// Run does what controllers do, some time after each change, until ctx ends: see Collect and
// Options.Workloads.
func (s *Server) Run(ctx context.Context) {
	pods := time.NewTimer(0) // when a Pod has to be looked at
	pods.Stop()
	defer pods.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.changed:
			timer := time.NewTimer(s.options.ControllerLag)
			select {
			case <-ctx.Done():
				timer.Stop()
				return
			case <-timer.C:
			}
		case <-pods.C:
		}
		s.Collect()
		pods.Stop()
		if next := s.work(); !next.IsZero() {
			pods.Reset(time.Until(next))
		}
	}
}

// work does one round of the controllers of workloads: see workLocked.
func (s *Server) work() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.workLocked()
}

// Collect does one round of what follows from what is stored now: it deletes objects
// whose owners are gone, finishes foreground and orphaning deletions, empties
// namespaces and definitions that are being deleted, and lets go of empty ones. It
// reports whether there was something to do; what that brings about is for the next
// round.
func (s *Server) Collect() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.version
	s.collectGarbageLocked()
	s.emptyDefinitionsLocked()
	s.emptyNamespacesLocked()
	return s.version != before
}

// internalLocked is a request of the controllers.
func (s *Server) internalLocked(r *resource, obj *unstructured.Unstructured, verb string) *call {
	return &call{Server: s, resource: r, served: r.stored, internal: true, Request: Request{
		User: Admin, Verb: verb, Namespace: obj.GetNamespace(), Name: obj.GetName(),
		Resource: r.stored.gvk.GroupVersion().WithResource(r.plural),
	}}
}

// deleteLocked deletes an object as a controller does. What stands in the way is for a
// later round.
func (s *Server) deleteLocked(r *resource, obj *unstructured.Unstructured, policy metav1.DeletionPropagation) {
	if r.objects[keyOf(obj)] != obj {
		return // it has changed in this round
	}
	_ = s.internalLocked(r, obj, "delete").remove(obj, metav1.DeleteOptions{PropagationPolicy: &policy})
}

// alterLocked writes an object as a controller does.
func (s *Server) alterLocked(r *resource, obj *unstructured.Unstructured, change func(*unstructured.Unstructured)) {
	if r.objects[keyOf(obj)] != obj {
		return
	}
	// What fails is tried again in a later round.
	_ = s.internalLocked(r, obj, "patch").alter("kube-controller-manager", change)
}

// alter writes an object, or its status, as a controller does.
func (c *call) alter(manager string, change func(*unstructured.Unstructured)) error {
	_, err := c.write(c.Name, "", false, intent{}, func(live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
		next := live.DeepCopy()
		change(next)
		return c.manage(live, next, manager), nil
	})
	return err
}

// node is an object with those that name it as an owner.
type node struct {
	resource   *resource
	object     *unstructured.Unstructured
	owners     []metav1.OwnerReference // of object
	dependents []*node
}

// collectGarbageLocked is the garbage collector.
func (s *Server) collectGarbageLocked() {
	byUID := map[types.UID]*node{}
	var all []*node
	for _, r := range s.sortedResourcesLocked() {
		for _, key := range r.sortedKeys("") {
			n := &node{resource: r, object: r.objects[key], owners: r.objects[key].GetOwnerReferences()}
			byUID[n.object.GetUID()] = n
			all = append(all, n)
		}
	}
	for _, n := range all {
		for _, ref := range n.owners {
			if owner := byUID[ref.UID]; owner != nil && owns(owner, n) {
				owner.dependents = append(owner.dependents, n)
			}
		}
	}
	for _, n := range all {
		s.collectLocked(n, byUID)
	}
}

// owns reports whether a dependent may have that owner: one of its own namespace, or
// one that has none.
func owns(owner, dependent *node) bool {
	return !owner.resource.namespaced || owner.object.GetNamespace() == dependent.object.GetNamespace()
}

// collectLocked looks at one object.
func (s *Server) collectLocked(n *node, byUID map[types.UID]*node) {
	obj := n.object
	if len(n.owners) == 0 && obj.GetDeletionTimestamp() == nil {
		return
	}
	finalizers := sets.New(obj.GetFinalizers()...)
	if obj.GetDeletionTimestamp() != nil {
		switch {
		case finalizers.Has(metav1.FinalizerOrphanDependents):
			s.orphanLocked(n)
		case finalizers.Has(metav1.FinalizerDeleteDependents):
			s.deleteInForegroundLocked(n)
		}
		return
	}
	var solid, dangling, waiting []metav1.OwnerReference
	for _, ref := range n.owners {
		owner := byUID[ref.UID]
		switch {
		case owner == nil || !owns(owner, n):
			if !s.canLookUp(ref, n) {
				return
			}
			dangling = append(dangling, ref)
		case isDeletingDependents(owner.object):
			waiting = append(waiting, ref)
		default:
			solid = append(solid, ref)
		}
	}
	switch {
	case len(solid) > 0 && len(dangling)+len(waiting) > 0:
		s.alterLocked(n.resource, obj, func(next *unstructured.Unstructured) { next.SetOwnerReferences(solid) })
	case len(solid) > 0 || len(dangling)+len(waiting) == 0:
	case len(waiting) > 0 && len(n.dependents) > 0:
		s.deleteLocked(n.resource, obj, metav1.DeletePropagationForeground)
	default:
		policy := metav1.DeletePropagationBackground
		if finalizers.Has(metav1.FinalizerOrphanDependents) {
			policy = metav1.DeletePropagationOrphan
		}
		s.deleteLocked(n.resource, obj, policy)
	}
}

// canLookUp reports whether the garbage collector can tell that an owner is gone: of a
// kind that is not served it cannot, nor of a namespaced owner of an object that is in
// no namespace.
func (s *Server) canLookUp(ref metav1.OwnerReference, n *node) bool {
	gv, err := schema.ParseGroupVersion(ref.APIVersion)
	if err != nil {
		return false
	}
	for _, r := range s.resources {
		if r.group == gv.Group && r.kind == ref.Kind && r.versionNamed(gv.Version) != nil {
			return !r.namespaced || n.resource.namespaced
		}
	}
	return false
}

func isDeletingDependents(obj *unstructured.Unstructured) bool {
	return obj.GetDeletionTimestamp() != nil && slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents)
}

// orNil is nil for an empty list: its field goes.
func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

func withoutFinalizer(obj *unstructured.Unstructured, name string) {
	obj.SetFinalizers(orNil(slices.DeleteFunc(obj.GetFinalizers(), func(f string) bool { return f == name })))
}

// orphanLocked takes an owner off its dependents, and then the finalizer off the owner.
func (s *Server) orphanLocked(n *node) {
	for _, d := range n.dependents {
		live := d.resource.objects[keyOf(d.object)]
		if live == nil {
			continue
		}
		s.alterLocked(d.resource, live, func(next *unstructured.Unstructured) {
			next.SetOwnerReferences(orNil(slices.DeleteFunc(next.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == n.object.GetUID() })))
		})
	}
	s.alterLocked(n.resource, n.object, func(next *unstructured.Unstructured) { withoutFinalizer(next, metav1.FinalizerOrphanDependents) })
}

// deleteInForegroundLocked lets an owner go when no dependent blocks it any more. The
// dependents themselves are deleted when they are looked at.
func (s *Server) deleteInForegroundLocked(n *node) {
	blocked := slices.ContainsFunc(n.dependents, func(d *node) bool {
		return d.resource.objects[keyOf(d.object)] != nil && slices.ContainsFunc(d.object.GetOwnerReferences(), func(r metav1.OwnerReference) bool {
			return r.UID == n.object.GetUID() && r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
		})
	})
	if !blocked {
		s.alterLocked(n.resource, n.object, func(next *unstructured.Unstructured) { withoutFinalizer(next, metav1.FinalizerDeleteDependents) })
	}
}

// emptyDefinitionsLocked deletes the objects of definitions that are being deleted.
func (s *Server) emptyDefinitionsLocked() {
	crds := s.resources[definitions]
	for _, key := range crds.sortedKeys("") {
		obj := crds.objects[key]
		if obj.GetDeletionTimestamp() == nil || !slices.Contains(obj.GetFinalizers(), cleanupFinalizer) {
			continue
		}
		crd := definitionOf(obj)
		r := s.resources[schema.GroupResource{Group: crd.Spec.Group, Resource: crd.Spec.Names.Plural}]
		if r != nil && r.definition == crd.Name {
			for _, key := range r.sortedKeys("") {
				s.deleteLocked(r, r.objects[key], metav1.DeletePropagationBackground)
			}
			if len(r.objects) > 0 {
				continue
			}
		}
		s.alterLocked(crds, obj, func(next *unstructured.Unstructured) { withoutFinalizer(next, cleanupFinalizer) })
	}
}

// emptyNamespacesLocked deletes what is in namespaces that are being deleted, and lets
// go of those that are empty.
func (s *Server) emptyNamespacesLocked() {
	namespaces := s.resources[schema.GroupResource{Resource: "namespaces"}]
	for _, key := range namespaces.sortedKeys("") {
		obj := namespaces.objects[key]
		if obj.GetDeletionTimestamp() == nil || !holdsContent(obj) {
			continue
		}
		if s.emptyLocked(key.Name) {
			next := obj.DeepCopy()
			setNested(next.Object, []any{}, "spec", "finalizers")
			if len(next.GetFinalizers()) == 0 {
				s.commitLocked(namespaces, obj, nil)
				continue
			}
			s.commitLocked(namespaces, obj, next)
		}
	}
}

// emptyLocked deletes what is in a namespace, and reports whether nothing is left.
func (s *Server) emptyLocked(namespace string) bool {
	empty := true
	for _, r := range s.sortedResourcesLocked() {
		if !r.namespaced {
			continue
		}
		for _, key := range r.sortedKeys(namespace) {
			s.deleteLocked(r, r.objects[key], metav1.DeletePropagationBackground)
			empty = empty && r.objects[key] == nil
		}
	}
	return empty
}
