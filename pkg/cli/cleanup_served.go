package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// refuseServed returns findings when an object in the cluster that is not being deleted
// has one of the policies: whoever runs that would make everything anew. Where the
// caller may not look, that is said, and nothing is refused.
func (o *cleanupOptions) refuseServed(ctx context.Context, c *cluster, programs []*policy.Program) error {
	if o.Force {
		return nil
	}
	served := false
	for _, program := range programs {
		resources, err := o.resources(ctx, c, program)
		if err := o.tolerate(program, "reconcilepolicies", err); err != nil {
			return err
		}
		for _, object := range resources {
			if object.GetDeletionTimestamp() == nil {
				served = true
				o.sayServed(program, "ReconcilePolicy", object.GetNamespace(), object.GetName())
			}
		}
		configMaps, err := o.configMaps(ctx, c, program)
		if err := o.tolerate(program, "configmaps", err); err != nil {
			return err
		}
		for _, object := range configMaps {
			served = true
			o.sayServed(program, "ConfigMap", object.Namespace, object.Name)
		}
	}
	if !served {
		return nil
	}
	return &exitError{code: exitFindings, err: errors.New("nothing was cleaned up: an Ambit that runs these policies would make everything anew. " +
		"Delete them first: a running Ambit then cleans up by itself; if none runs, call this again afterwards")}
}

// sayServed says where a policy is, and how to delete it.
func (o *cleanupOptions) sayServed(program *policy.Program, kind, namespace, name string) {
	wait := ""
	if kind == v1alpha1.Kind {
		wait = " --wait=false" // it has a finalizer, and it may be that no Ambit runs
	}
	fmt.Fprintf(o.ErrOut, "policy %q is in the cluster, in the %s %s/%s: kubectl delete %s %s -n %s%s\n",
		program.Name, kind, namespace, name, strings.ToLower(kind), name, namespace, wait)
}

// tolerate takes the error of looking for a policy in the cluster: that one may not is
// said, and no error.
func (o *cleanupOptions) tolerate(program *policy.Program, resource string, err error) error {
	if apierrors.IsForbidden(err) {
		fmt.Fprintf(o.ErrOut, "warning: it is not known whether the cluster has policy %q, as you may not list %s: if an Ambit runs it, everything is made anew\n", program.Name, resource)
		return nil
	}
	return clusterError(err)
}

// resources returns the ReconcilePolicies of a policy: those of its name in its
// namespace, or wherever if it says none.
func (o *cleanupOptions) resources(ctx context.Context, c *cluster, program *policy.Program) ([]unstructured.Unstructured, error) {
	client := c.objects.Resource(v1alpha1.GroupVersion.WithResource(v1alpha1.Resource))
	var found []unstructured.Unstructured
	err := o.inNamespaces(program, func(namespace string) error {
		list, err := client.Namespace(namespace).List(ctx, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", program.Name).String()})
		if list != nil {
			found = list.Items
		}
		return err
	})
	if err != nil && !apierrors.IsNotFound(err) { // not found: the kind is not installed
		return nil, fmt.Errorf("looking for ReconcilePolicy %q: %w", program.Name, err)
	}
	return found, nil
}

// configMaps returns those that hold a policy, with the label that Ambit looks for.
func (o *cleanupOptions) configMaps(ctx context.Context, c *cluster, program *policy.Program) ([]corev1.ConfigMap, error) {
	selector := labels.Set{v1alpha1.LabelPolicySource: v1alpha1.PolicySourceValue}.String()
	var found []corev1.ConfigMap
	err := o.inNamespaces(program, func(namespace string) error {
		list, err := c.typed.CoreV1().ConfigMaps(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err == nil {
			found = list.Items
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("looking for ConfigMaps with policy %q: %w", program.Name, err)
	}
	return slices.DeleteFunc(found, func(object corev1.ConfigMap) bool {
		return object.DeletionTimestamp != nil || !holds(object, program.Name)
	}), nil
}

// inNamespaces lists where a policy may be in the cluster: in its namespace; without
// one in all, or, where that is not permitted, in that of the context.
func (o *cleanupOptions) inNamespaces(program *policy.Program, list func(namespace string) error) error {
	err := list(program.Namespace)
	if program.Namespace != "" || !apierrors.IsForbidden(err) {
		return err
	}
	namespace, _, contextErr := o.Cluster.ToRawKubeConfigLoader().Namespace()
	if contextErr != nil {
		return err
	}
	return list(namespace)
}

// holds says whether a ConfigMap has a policy of that name. What cannot be read is none.
func holds(object corev1.ConfigMap, name string) bool {
	for _, key := range slices.Sorted(maps.Keys(object.Data)) {
		if !policy.IsFileName(key) {
			continue
		}
		objects, err := decodeObjects([]byte(object.Data[key]))
		if err != nil {
			continue
		}
		if slices.ContainsFunc(objects, func(u *unstructured.Unstructured) bool { return u.GetKind() == v1alpha1.Kind && u.GetName() == name }) {
			return true
		}
	}
	return false
}
