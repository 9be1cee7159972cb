package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// release takes the finalizer off the ReconcilePolicies of policies that are cleaned up
// after, where they are being deleted: others are served. It returns those that keep it.
func (o *cleanupOptions) release(ctx context.Context, c *cluster, programs []*policy.Program) []leftover {
	var held []leftover
	for _, program := range programs {
		objects, err := o.resources(ctx, c, program)
		if err != nil && !apierrors.IsForbidden(err) { // it was said before that it may not be looked for
			held = append(held, leftover{Policy: program.Name, Why: err.Error()})
		}
		for i := range objects {
			object := &objects[i]
			if object.GetDeletionTimestamp() == nil || !slices.Contains(object.GetFinalizers(), v1alpha1.FinalizerCleanup) {
				continue
			}
			why := "only some namespaces were cleaned up; without --namespaces it is taken off"
			if o.covers(program) {
				if err = freed(ctx, c, object); err == nil {
					continue
				}
				why = err.Error()
			}
			held = append(held, leftoverObject(program, object, "it keeps its finalizer "+v1alpha1.FinalizerCleanup+": "+why))
		}
	}
	return held
}

// covers says whether all namespaces that a policy looks at are worked in.
func (o *cleanupOptions) covers(program *policy.Program) bool {
	if len(o.Namespaces) == 0 {
		return true
	}
	outside := func(namespace string) bool { return !slices.Contains(o.Namespaces, namespace) }
	return program.NamespaceSelector == nil && len(program.Namespaces) > 0 && !slices.ContainsFunc(program.Namespaces, outside)
}

// freed takes the finalizer off an object, unless it is another one by now.
func freed(ctx context.Context, c *cluster, object *unstructured.Unstructured) error {
	client := c.objects.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)).Namespace(object.GetNamespace())
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := client.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil || now.GetUID() != object.GetUID() {
			return err
		}
		list := slices.DeleteFunc(now.GetFinalizers(), func(f string) bool { return f == v1alpha1.FinalizerCleanup })
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": now.GetResourceVersion(), "finalizers": list}})
		if err != nil {
			return fmt.Errorf("taking the finalizer off: %w", err)
		}
		_, err = client.Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
