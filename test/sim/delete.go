package sim

import (
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// delete handles a DELETE of one object.
func (c *call) delete(name string, o metav1.DeleteOptions) error {
	c.handled.Preconditions = o.Preconditions
	live := c.live(name)
	if c.served.gvk.Kind == "Namespace" && isImmortal(name) {
		return apierrors.NewForbidden(c.gr(), name, fmt.Errorf("this namespace may not be deleted"))
	}
	if errs := validation.ValidateDeleteOptions(&o); len(errs) > 0 {
		return apierrors.NewInvalid(schema.GroupKind{Group: metav1.GroupName, Kind: "DeleteOptions"}, "", errs)
	}
	if live == nil {
		return c.notFound(name)
	}
	if err := c.checkPreconditions(live, o.Preconditions); err != nil {
		return err
	}
	if err := c.admitDelete(live); err != nil {
		return err
	}
	if len(o.DryRun) > 0 {
		return nil
	}
	return c.remove(live, o)
}

// checkPreconditions compares what a delete is meant for.
func (c *call) checkPreconditions(live *unstructured.Unstructured, p *metav1.Preconditions) error {
	if p == nil {
		return nil
	}
	gr, name := schema.GroupResource{Group: c.served.gvk.Group, Resource: c.served.gvk.Kind}, live.GetName()
	if p.UID != nil && *p.UID != live.GetUID() {
		return apierrors.NewConflict(gr, name, fmt.Errorf("the UID in the precondition (%s) does not match the UID in record (%s). The object might have been deleted and then recreated", *p.UID, live.GetUID()))
	}
	if p.ResourceVersion != nil && *p.ResourceVersion != live.GetResourceVersion() {
		return apierrors.NewConflict(gr, name, fmt.Errorf("the ResourceVersion in the precondition (%s) does not match the ResourceVersion in record (%s). The object might have been modified", *p.ResourceVersion, live.GetResourceVersion()))
	}
	return nil
}

// remove deletes an object, or marks it as being deleted if something holds it.
func (c *call) remove(live *unstructured.Unstructured, o metav1.DeleteOptions) error {
	finalizers := c.finalizers(live, o)
	grace := c.gracePeriod(live, o)
	if live.GetDeletionTimestamp() != nil && (grace > 0 || holdsContent(live)) {
		return nil // on its way; what the options say comes too late
	}
	if len(finalizers) == 0 && grace == 0 && !holdsContent(live) {
		c.commitLocked(c.resource, live, nil)
		return nil
	}
	obj := live.DeepCopy()
	obj.SetFinalizers(finalizers)
	if obj.GetDeletionTimestamp() == nil {
		if obj.GetGeneration() > 0 {
			obj.SetGeneration(obj.GetGeneration() + 1)
		}
		at := metav1.NewTime(now().Add(time.Duration(grace) * time.Second))
		obj.SetDeletionTimestamp(&at)
		switch c.served.gvk.Kind {
		case "Namespace":
			setNested(obj.Object, "Terminating", "status", "phase")
		case definitionKind:
			terminate(obj)
		}
	}
	if c.served.gvk.Kind != "Namespace" {
		obj.SetDeletionGracePeriodSeconds(&grace)
	}
	if isUnchanged(obj, live) {
		return nil
	}
	c.commitLocked(c.resource, live, obj)
	return nil
}

// gracePeriod is how long a Pod may go on, in seconds; 0 for other kinds, and for a
// Pod that does not run.
func (c *call) gracePeriod(live *unstructured.Unstructured, o metav1.DeleteOptions) int64 {
	if c.served.gvk.Kind != "Pod" {
		return 0
	}
	node, _, _ := unstructured.NestedString(live.Object, "spec", "nodeName")
	phase, _, _ := unstructured.NestedString(live.Object, "status", "phase")
	if node == "" || phase == "Succeeded" || phase == "Failed" {
		return 0
	}
	if o.GracePeriodSeconds != nil {
		return *o.GracePeriodSeconds
	}
	seconds, ok, _ := unstructured.NestedInt64(live.Object, "spec", "terminationGracePeriodSeconds")
	if !ok {
		return 30
	}
	return seconds
}

// finalizers are those of an object that is to be deleted: the garbage collector's say
// what becomes of dependents.
func (c *call) finalizers(live *unstructured.Unstructured, o metav1.DeleteOptions) []string {
	had := live.GetFinalizers()
	kept := slices.DeleteFunc(slices.Clone(had), func(f string) bool {
		return f == metav1.FinalizerOrphanDependents || f == metav1.FinalizerDeleteDependents
	})
	if c.served.gvk.Kind == definitionKind && !slices.Contains(kept, cleanupFinalizer) && live.GetDeletionTimestamp() == nil {
		kept = append(kept, cleanupFinalizer)
	}
	kept = orNil(kept) // an empty list is no field
	switch c.propagation(had, o) {
	case metav1.DeletePropagationOrphan:
		return append(kept, metav1.FinalizerOrphanDependents)
	case metav1.DeletePropagationForeground:
		return append(kept, metav1.FinalizerDeleteDependents)
	}
	return kept
}

func (c *call) propagation(finalizers []string, o metav1.DeleteOptions) metav1.DeletionPropagation {
	switch {
	case o.PropagationPolicy != nil:
		return *o.PropagationPolicy
	case slices.Contains(finalizers, metav1.FinalizerOrphanDependents):
		return metav1.DeletePropagationOrphan
	case slices.Contains(finalizers, metav1.FinalizerDeleteDependents):
		return metav1.DeletePropagationForeground
	case c.resource.traits.orphans:
		return metav1.DeletePropagationOrphan
	}
	return metav1.DeletePropagationBackground
}

// deleteAll handles a DELETE of a collection.
func (c *call) deleteAll(o metav1.DeleteOptions, l metav1.ListOptions) error {
	chosen, err := c.selectorOf(l)
	if err != nil {
		return err
	}
	for _, key := range c.resource.sortedKeys(c.Namespace) {
		live := c.resource.objects[key]
		if !chosen.matches(live) {
			continue
		}
		one := *c
		one.Namespace = key.Namespace
		if err := one.delete(key.Name, o); err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}
