package uninstall

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/retry"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// ReconcilePolicies returns the ReconcilePolicies that have a policy and are not being
// deleted: those of its name in its namespace, or in any if it has none. The error wraps
// that of the API server.
func (c *Cleanup) ReconcilePolicies(ctx context.Context, program *policy.Program) ([]types.NamespacedName, error) {
	objects, err := c.policyObjects(ctx, program)
	var found []types.NamespacedName
	for i := range objects {
		if objects[i].DeletionTimestamp == nil {
			found = append(found, types.NamespacedName{Namespace: objects[i].Namespace, Name: objects[i].Name})
		}
	}
	return found, err
}

func (c *Cleanup) policyClient(namespace string) metadata.ResourceInterface {
	return c.Scan.Objects.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)).Namespace(namespace)
}

// policyObjects is ReconcilePolicies with those that are being deleted.
func (c *Cleanup) policyObjects(ctx context.Context, program *policy.Program) ([]metav1.PartialObjectMetadata, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", program.Name).String()}
	list, err := c.policyClient(program.Namespace).List(ctx, options)
	switch {
	case apierrors.IsNotFound(err): // the kind is not installed
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("looking for ReconcilePolicy %q: %w", program.Name, err)
	}
	return list.Items, nil
}

// ConfigMaps returns the ConfigMaps that Ambit reads policies from, hold this one, and are
// not being deleted: in its namespace, or in any if it has none. The error wraps that of
// the API server.
func (c *Cleanup) ConfigMaps(ctx context.Context, program *policy.Program) (found []types.NamespacedName, err error) {
	list, err := c.CoreV1.ConfigMaps(program.Namespace).List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.PolicySourceSelector})
	if err != nil {
		return nil, fmt.Errorf("looking for ConfigMaps with policy %q: %w", program.Name, err)
	}
	for i := range list.Items {
		if object := &list.Items[i]; object.DeletionTimestamp == nil && holdsPolicy(object, program.Name) {
			found = append(found, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
		}
	}
	return found, nil
}

// holdsPolicy reports whether a ConfigMap has a policy of that name. What cannot be read
// is none.
func holdsPolicy(object *corev1.ConfigMap, name string) bool {
	for _, key := range slices.Sorted(maps.Keys(object.Data)) {
		if !syntax.IsFileName(key) {
			continue
		}
		documents, _ := syntax.Parse(key, []byte(object.Data[key])) // the error is about others
		if slices.ContainsFunc(documents, func(d *syntax.Document) bool { return d.Name() == name }) {
			return true
		}
	}
	return false
}

// releasePolicies takes the finalizer off the ReconcilePolicies of the policies, where they
// are being deleted: others are served. It returns those that keep it.
func (c *Cleanup) releasePolicies(ctx context.Context) []Finding {
	var held []Finding
	for _, program := range c.Programs {
		objects, err := c.policyObjects(ctx, program)
		if err != nil && !apierrors.IsForbidden(err) { // that it may not be looked for was reported before
			held = append(held, Finding{Policy: program.Label, Why: err.Error()})
		}
		for i := range objects {
			object := &objects[i]
			if object.DeletionTimestamp == nil || !hasFinalizer(object) {
				continue
			}
			err := errors.New("only some namespaces were cleaned up; without --namespaces it is taken off")
			if c.coversPolicy(program) {
				err = c.removeFinalizer(ctx, object)
			}
			if err == nil {
				continue
			}
			held = append(held, Finding{
				Policy: program.Label, Kind: v1alpha1.Kind, Namespace: object.Namespace, Name: object.Name,
				Why: "it keeps its finalizer " + v1alpha1.FinalizerCleanup + ": " + err.Error(),
			})
		}
	}
	return held
}

// coversPolicy reports whether all namespaces that a policy looks at are cleaned up in.
func (c *Cleanup) coversPolicy(program *policy.Program) bool {
	if len(c.Scan.Namespaces) == 0 {
		return true
	}
	isOutside := func(namespace string) bool { return !slices.Contains(c.Scan.Namespaces, namespace) }
	return program.NamespaceSelector == nil && len(program.Namespaces) > 0 && !slices.ContainsFunc(program.Namespaces, isOutside)
}

// removeFinalizer takes the finalizer off an object, unless it is another one by now.
func (c *Cleanup) removeFinalizer(ctx context.Context, object *metav1.PartialObjectMetadata) error {
	client := c.policyClient(object.Namespace)
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		now, err := client.Get(ctx, object.Name, metav1.GetOptions{})
		if err != nil || now.UID != object.UID {
			return err
		}
		kept := slices.DeleteFunc(now.Finalizers, func(f string) bool { return f == v1alpha1.FinalizerCleanup })
		patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"resourceVersion": now.ResourceVersion, "finalizers": kept}})
		if err != nil {
			return fmt.Errorf("taking the finalizer off: %w", err)
		}
		_, err = client.Patch(ctx, object.Name, types.MergePatchType, patch, metav1.PatchOptions{})
		return err
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}
