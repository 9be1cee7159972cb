package faultplan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// inputs are what others than Ambit and the controllers made, as it is at rest: what the
// result of a plan depends on.
type inputs struct {
	scenario  *Scenario
	policy    int  // the version of the policy
	workloads bool // there are the controllers of workloads
	// objects are those that are new or changed since before the plan.
	objects map[string]*unstructured.Unstructured
	texts   map[string]string // of objects
	// outdated are the keys of those from before the plan that are changed, or gone.
	outdated []string
	// going are the keys of those that users have deleted, and that are held back: in objects,
	// or as before the plan but for that.
	going []string
}

// inputsOf takes everything that Ambit did not make.
func inputsOf(w *World) *inputs {
	in := &inputs{
		scenario: w.plan.Scenario, policy: slices.Index(w.plan.Scenario.Versions, w.programs[0]), workloads: w.plan.Workloads,
		objects: map[string]*unstructured.Unstructured{}, texts: map[string]string{},
	}
	base := in.scenario.preparedBase()
	present := map[string]bool{}
	for _, obj := range w.server.Objects() {
		key := keyOf(obj)
		if base.objects[key] == obj {
			present[key] = true
			continue
		}
		if w.judge.isMade(obj.GetUID()) || in.workloads && isOfWorkload(obj) {
			continue
		}
		written := obj
		if in.workloads {
			written = withoutStatus(obj)
		}
		written = asWritten(written, in.scenario)
		if obj.GetDeletionTimestamp() != nil {
			in.going = append(in.going, key)
		}
		text := textOf(written)
		if text == base.texts[base.objects[key]] {
			present[key] = true
			continue
		}
		in.objects[key], in.texts[key] = written, text
	}
	for _, key := range slices.Sorted(maps.Keys(base.objects)) {
		if !present[key] && !isTrigger(base.objects[key]) { // which a reference always has
			in.outdated = append(in.outdated, key)
		}
	}
	return in
}

// asWritten is an object without what Ambit and the server added.
func asWritten(obj *unstructured.Unstructured, s *Scenario) *unstructured.Unstructured {
	return stripped(withoutAmbits(obj).DeepCopy(), s)
}

// stripped takes out of an object what Ambit and the server added, but for fields that only
// managedFields tell.
func stripped(out *unstructured.Unstructured, s *Scenario) *unstructured.Unstructured {
	for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "deletionTimestamp", "deletionGracePeriodSeconds"} {
		unstructured.RemoveNestedField(out.Object, "metadata", field)
	}
	labels, annotations := out.GetLabels(), out.GetAnnotations()
	maps.DeleteFunc(labels, func(key, _ string) bool { return v1alpha1.IsReservedKey(key) })
	maps.DeleteFunc(annotations, func(key, _ string) bool { return v1alpha1.IsReservedKey(key) })
	out.SetLabels(labels)
	out.SetAnnotations(annotations)
	out.SetFinalizers(slices.DeleteFunc(out.GetFinalizers(), v1alpha1.IsReservedKey))
	out.SetOwnerReferences(nil) // users write none
	if isOwner(out, s) {
		delete(out.Object, "status")
	}
	return out
}

// isOwner says whether an object is of the kind of owners.
func isOwner(obj *unstructured.Unstructured, s *Scenario) bool {
	return obj.GroupVersionKind() == s.Versions[0].Owner.GVK
}

// key is equal for equal inputs.
func (in *inputs) key() string {
	var b strings.Builder
	fmt.Fprintln(&b, in.scenario.Name, in.policy, in.workloads, in.going, in.outdated)
	for _, key := range slices.Sorted(maps.Keys(in.texts)) {
		fmt.Fprintln(&b, in.texts[key])
	}
	return b.String()
}

// create makes a cluster as before a plan the one that the inputs are of.
func (in *inputs) create(server *sim.Server) error {
	admin, ctx := server.As(sim.Admin), context.Background()
	changed := map[string]bool{}
	for _, key := range in.outdated {
		obj := in.scenario.preparedBase().objects[key]
		resource, err := resourceOf(admin, obj)
		if err != nil {
			return err
		}
		if want, ok := in.objects[key]; ok && obj.GetKind() == "Namespace" { // what is in there stays
			changed[key] = true
			obj = obj.DeepCopy()
			obj.SetLabels(want.GetLabels())
			obj.SetAnnotations(want.GetAnnotations())
			if _, err := admin.Dynamic().Resource(resource).Update(ctx, obj, updateOptions); err != nil {
				return fmt.Errorf("changing %s: %w", key, err)
			}
			continue
		}
		if err := admin.Dynamic().Resource(resource).Namespace(obj.GetNamespace()).Delete(ctx, obj.GetName(), metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting %s: %w", key, err)
		}
	}
	server.Collect()
	for _, key := range in.order() {
		obj := in.objects[key]
		if changed[key] {
			continue
		}
		resource, err := resourceOf(admin, obj)
		if err != nil {
			return err
		}
		client := admin.Dynamic().Resource(resource).Namespace(obj.GetNamespace())
		_, err = client.Create(ctx, obj.DeepCopy(), metav1.CreateOptions{FieldManager: "user"})
		if err != nil {
			return fmt.Errorf("creating %s: %w", key, err)
		}
		if status, ok := obj.Object["status"]; ok {
			made, err := client.Get(ctx, obj.GetName(), getOptions) // as a controller may have written it
			if err != nil {
				return fmt.Errorf("reading %s: %w", key, err)
			}
			made.Object["status"] = status
			if _, err := client.UpdateStatus(ctx, made, updateOptions); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("writing the status of %s: %w", key, err)
			}
		}
	}
	return nil
}

// delete deletes what users have deleted.
func (in *inputs) delete(server *sim.Server) error {
	admin := server.As(sim.Admin)
	for _, key := range in.going {
		obj := cmp.Or(in.objects[key], in.scenario.preparedBase().objects[key])
		resource, err := resourceOf(admin, obj)
		if err != nil {
			return err
		}
		if err := admin.Dynamic().Resource(resource).Namespace(obj.GetNamespace()).Delete(context.Background(), obj.GetName(), metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting %s: %w", key, err)
		}
	}
	return nil
}

// order has namespaces and definitions before what is in them or of them.
func (in *inputs) order() []string {
	first := func(key string) int {
		return slices.IndexFunc([]string{"CustomResourceDefinition ", "Namespace ", ""}, func(kind string) bool { return strings.HasPrefix(key, kind) })
	}
	return slices.SortedFunc(maps.Keys(in.objects), func(a, b string) int {
		if d := first(a) - first(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
}
