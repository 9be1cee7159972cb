package main

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	clienttesting "k8s.io/client-go/testing"
)

// TestUntil tells the story of one Pod: it is there, changes, goes; another one
// comes. until looks at each state in turn, and at none after what it waits for.
func TestUntil(t *testing.T) {
	t.Parallel()
	events := watch.NewFakeWithChanSize(3, false)
	events.Modify(pod("a", 2))
	events.Delete(pod("a", 2))
	events.Add(pod("b", 3))
	pods := podClient(events, pod("a", 1))

	var sizes []int64
	err := until(t.Context(), pods, "b is there", func(s seen) bool {
		sizes = append(sizes, number(s["a"], "spec", "size"))
		return s["b"] != nil
	})
	if diff := cmp.Diff([]int64{1, 2, 0, 0}, sizes); err != nil || diff != "" {
		t.Errorf("until = %v; sizes seen of a: -want +got\n%s", err, diff)
	}
}

// TestUntilTooLate: the error says why nothing more is awaited.
func TestUntilTooLate(t *testing.T) {
	t.Parallel()
	errTooLate := errors.New("too late")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := watch.NewFake()
	ended.Stop()
	err := until(ctx, podClient(ended), "it happens", func(seen) bool {
		cancel(errTooLate)
		return false
	})
	if !errors.Is(err, errTooLate) {
		t.Errorf("until = %v, want %v", err, errTooLate)
	}
}

// podClient lists the given Pods, and then shows the given events.
func podClient(events watch.Interface, pods ...runtime.Object) dynamic.ResourceInterface {
	resource := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	kinds := map[schema.GroupVersionResource]string{resource: "PodList"}
	client := fake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), kinds, pods...)
	client.PrependWatchReactor("pods", func(clienttesting.Action) (bool, watch.Interface, error) { return true, events, nil })
	return client.Resource(resource).Namespace("default")
}

func pod(name string, size int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": name, "namespace": "default"},
		"spec":     map[string]any{"size": size},
	}}
}
