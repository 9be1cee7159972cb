package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
)

func (d *demo) createOwners(ctx context.Context) error {
	began := time.Now()
	if err := d.apply(ctx, "samples.yaml"); err != nil {
		return err
	}
	if err := d.untilServed(ctx, namespaceOne, 2, began); err != nil {
		return err
	}
	if err := d.untilServed(ctx, namespaceTwo, 3, began); err != nil {
		return err
	}
	if err := d.showOwners(ctx); err != nil {
		return err
	}
	return d.showStatus(ctx, namespaceOne)
}

// untilServed waits until the Memcached of a namespace is served by size Pods,
// and says so itself. Times are told from began.
func (d *demo) untilServed(ctx context.Context, namespace string, size int64, began time.Time) error {
	what := fmt.Sprintf("Deployment %s/%s is %d/%d", namespace, ownerName, size, size)
	err := until(ctx, d.deployments(namespace), what, func(s seen) bool {
		deployment := s[ownerName]
		return number(deployment, "spec", "replicas") == size && number(deployment, "status", "replicas") == size &&
			number(deployment, "status", "readyReplicas") == size && isObserved(deployment)
	})
	if err != nil {
		return err
	}
	d.say("%s (%s)", what, seconds(time.Since(began)))
	what = fmt.Sprintf("Memcached %s/%s is Ready and names %d nodes", namespace, ownerName, size)
	err = until(ctx, d.owners(namespace), what, func(s seen) bool {
		owner := s[ownerName]
		return isObserved(owner) && conditionIs(owner, "Ready", "True") && len(nodes(owner)) == int(size)
	})
	if err != nil {
		return err
	}
	d.say("%s (%s)", what, seconds(time.Since(began)))
	return nil
}

func (d *demo) showOwners(ctx context.Context) error {
	d.command("kubectl get memcacheds -A")
	table, err := getTable(ctx, d.typed.Discovery().RESTClient(), "/apis/cache.example.com/v1alpha1/memcacheds")
	if err != nil {
		return err
	}
	d.show(table)
	return nil
}

// showStatus shows what the Memcached of a namespace says of itself.
func (d *demo) showStatus(ctx context.Context, namespace string) error {
	owner, err := d.owners(namespace).Get(ctx, ownerName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Memcached: %w", err)
	}
	d.command("kubectl describe memcached %s -n %s", ownerName, namespace)
	d.show("nodes: " + strings.Join(nodes(owner), ", "))
	d.show("state: " + text(owner, "status", "state", "status") + ": " + text(owner, "status", "state", "message"))
	d.show(conditionsTable(owner))
	return nil
}

func (d *demo) scaleByHand(ctx context.Context) error {
	began := time.Now()
	d.command("kubectl scale deployment %s -n %s --replicas=5", ownerName, namespaceOne)
	scaled, err := d.patch(ctx, d.deployments(namespaceOne), `{"spec":{"replicas":5}}`)
	if err != nil {
		return err
	}
	err = until(ctx, d.deployments(namespaceOne), "it wants 2 replicas again", func(s seen) bool {
		deployment := s[ownerName]
		return number(deployment, "spec", "replicas") == 2 && number(deployment, "metadata", "generation") > scaled.GetGeneration()
	})
	if err != nil {
		return err
	}
	d.say("Ambit has put it back to 2 (%s).", seconds(time.Since(began)))
	return d.untilServed(ctx, namespaceOne, 2, began)
}

func (d *demo) deleteByHand(ctx context.Context) error {
	d.command("kubectl delete deployment %s -n %s", ownerName, namespaceTwo)
	before, err := d.deployments(namespaceTwo).Get(ctx, ownerName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Deployment: %w", err)
	}
	began := time.Now()
	if err := d.deployments(namespaceTwo).Delete(ctx, ownerName, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the Deployment: %w", err)
	}
	err = until(ctx, d.deployments(namespaceTwo), "it is there again", func(s seen) bool {
		return s[ownerName] != nil && s[ownerName].GetUID() != before.GetUID()
	})
	if err != nil {
		return err
	}
	d.say("Ambit has made it again (%s).", seconds(time.Since(began)))
	return d.untilServed(ctx, namespaceTwo, 3, began)
}

func (d *demo) resizeOwners(ctx context.Context) error {
	if err := d.resize(ctx, namespaceOne, 4); err != nil {
		return err
	}
	if err := d.resize(ctx, namespaceTwo, 0); err != nil {
		return err
	}
	return d.showOwners(ctx)
}

func (d *demo) resize(ctx context.Context, namespace string, size int64) error {
	began := time.Now()
	patch := fmt.Sprintf(`{"spec":{"size":%d}}`, size)
	d.command("kubectl patch memcached %s -n %s --type merge -p '%s'", ownerName, namespace, patch)
	if _, err := d.patch(ctx, d.owners(namespace), patch); err != nil {
		return err
	}
	return d.untilServed(ctx, namespace, size, began)
}

func (d *demo) deleteOwners(ctx context.Context) error {
	began := time.Now()
	for _, namespace := range namespaces() {
		d.command("kubectl delete memcached %s -n %s", ownerName, namespace)
		if err := d.owners(namespace).Delete(ctx, ownerName, metav1.DeleteOptions{}); err != nil {
			return fmt.Errorf("deleting the Memcached: %w", err)
		}
	}
	if err := d.untilStreams(ctx); err != nil {
		return err
	}
	d.say("Ambit has closed its watches of Deployments and Pods: nobody needs them (%s).", seconds(time.Since(began)))
	for _, namespace := range namespaces() {
		none := func(s seen) bool { return len(s) == 0 }
		if err := until(ctx, d.deployments(namespace), "no Deployment is left in "+namespace, none); err != nil {
			return err
		}
		if err := until(ctx, d.pods(namespace), "no Pod is left in "+namespace, none); err != nil {
			return err
		}
	}
	d.say("Kubernetes has collected what they owned: no Deployment and no Pod is left (%s).", seconds(time.Since(began)))
	return nil
}

// patch merges a change into the object of the demo's name.
func (d *demo) patch(ctx context.Context, objects dynamic.ResourceInterface, patch string) (*unstructured.Unstructured, error) {
	changed, err := objects.Patch(ctx, ownerName, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	if err != nil {
		return nil, fmt.Errorf("changing %s with %s: %w", ownerName, patch, err)
	}
	return changed, nil
}

// isObserved says whether the status of an object is about its present spec.
func isObserved(object *unstructured.Unstructured) bool {
	return object != nil && number(object, "status", "observedGeneration") == object.GetGeneration()
}

// conditionIs says whether an object has a condition of that type and status.
func conditionIs(object *unstructured.Unstructured, kind, status string) bool {
	conditions, _, err := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if condition, ok := c.(map[string]any); ok && condition["type"] == kind {
			return err == nil && condition["status"] == status
		}
	}
	return false
}

// nodes are the nodes that a Memcached names in its status.
func nodes(owner *unstructured.Unstructured) []string {
	names, _, err := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
	if err != nil {
		return nil
	}
	return names
}
