package e2e

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// pruneObject is where an object of an item is.
type pruneObject struct {
	child, namespace, name string
	resource               schema.GroupVersionResource
}

// objectsOf are the objects that are made for an item, in the order of the graph.
func (p *pruning) objectsOf(item string) []pruneObject {
	core := func(resource string) schema.GroupVersionResource {
		return schema.GroupVersionResource{Version: "v1", Resource: resource}
	}
	return []pruneObject{
		{"near", p.home, "near-" + item, core("secrets")},
		{"far", p.away, "far-" + item, core("configmaps")},
		{"roles", "", p.name + "-" + item, rbacv1.SchemeGroupVersion.WithResource("clusterroles")},
		{"boxes", p.away, "box-" + item, schema.GroupVersionResource{Group: p.group, Version: "v1", Resource: "boxes"}},
		{"left", p.home, "left-" + item, core("serviceaccounts")},
	}
}

func (p *pruning) object(item, child string) pruneObject {
	list := p.objectsOf(item)
	return list[slices.IndexFunc(list, func(k pruneObject) bool { return k.child == child })]
}

func (p *pruning) client(k pruneObject) dynamic.ResourceInterface {
	if k.namespace == "" {
		return p.objects.Resource(k.resource)
	}
	return p.objects.Resource(k.resource).Namespace(k.namespace)
}

// marked is the Namespace that has an annotation for an item.
func (p *pruning) marked(item string) string {
	if item == "a" {
		return p.home
	}
	return p.away
}

// uids reads the objects of an item by the ids of the children; the annotation on the
// Namespace stands for an object.
func (p *pruning) uids(ctx context.Context, item string) (map[string]string, error) {
	found := map[string]string{}
	for _, k := range p.objectsOf(item) {
		object, err := p.client(k).Get(ctx, k.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		found[k.child] = string(object.GetUID())
	}
	namespace, err := p.typed.CoreV1().Namespaces().Get(ctx, p.marked(item), metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if text := namespace.Annotations["prune.example.com/item"]; text != "" {
		found["marks"] = text
	}
	return found, nil
}

// all waits until an item has all its objects, and returns their uids.
func (p *pruning) all(item string) (found map[string]string) {
	p.t.Helper()
	p.eventually("all objects of item "+item+" are there", func(ctx context.Context) (err error) {
		if found, err = p.uids(ctx, item); err == nil && len(found) != 6 {
			err = fmt.Errorf("there are %v", found)
		}
		return err
	})
	return found
}

// has fails the test if the objects of an item are not these.
func (p *pruning) has(item, when string, want map[string]string) {
	p.t.Helper()
	got, err := p.uids(p.t.Context(), item)
	if err != nil {
		p.t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.t.Errorf("the objects of item %s %s (-want +got):\n%s", item, when, diff)
	}
}

// comesTo waits until the objects of an item are these.
func (p *pruning) comesTo(item string, want map[string]string) {
	p.t.Helper()
	p.eventually("the objects of item "+item+" are as they should be", func(ctx context.Context) error {
		got, err := p.uids(ctx, item)
		if err == nil {
			if diff := cmp.Diff(want, got); diff != "" {
				err = fmt.Errorf("(-want +got):\n%s\nowner: %s", diff, p.ownerText(ctx))
			}
		}
		return err
	})
}

func (p *pruning) ownerText(ctx context.Context) string {
	owner, err := p.owner(ctx, p.home, "one")
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("finalizers %v, %s, status %v", owner.GetFinalizers(), owner.GetAnnotations()[v1alpha1.AnnotationChildren], owner.Object["status"])
}

// hold puts a finalizer of somebody on an object, so that it stays when it is deleted.
func (p *pruning) hold(k pruneObject) (release func()) {
	p.t.Helper()
	return p.holdObject(p.client(k), k.name)
}

// holdObject puts a finalizer of somebody on an object, so that it stays when it is deleted,
// until it is released.
func (w *world) holdObject(objects dynamic.ResourceInterface, name string) (release func()) {
	w.t.Helper()
	patch := func(text string) {
		w.t.Helper()
		if _, err := objects.Patch(w.t.Context(), name, types.MergePatchType, []byte(text), metav1.PatchOptions{}); err != nil {
			w.t.Fatalf("patching %s: %v", name, err)
		}
	}
	patch(`{"metadata":{"finalizers":["stories.example.com/held"]}}`)
	return func() {
		w.t.Helper()
		patch(`{"metadata":{"finalizers":null}}`)
	}
}

// replace deletes an object and makes another one under its name, which says all that
// the first one did but whose it is.
func (p *pruning) replace(ctx context.Context, k pruneObject) error {
	object, err := p.client(k).Get(ctx, k.name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if err := p.client(k).Delete(ctx, k.name, metav1.DeleteOptions{}); err != nil {
		return err
	}
	other := &unstructured.Unstructured{Object: object.DeepCopy().Object}
	other.SetUID("")
	other.SetResourceVersion("")
	other.SetOwnerReferences(nil)
	other.SetManagedFields(nil)
	_, err = p.client(k).Create(ctx, other, metav1.CreateOptions{FieldManager: "somebody"})
	return err
}
