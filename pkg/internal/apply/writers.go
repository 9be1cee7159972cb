package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/dynamic"
)

// LatestWriters asks the API server which field managers have fields in a subresource of an object,
// `status` or empty for the object itself: the last writer first; of those within one second ours
// is the last. A writer that only removes fields is not among them. It needs the right to list the
// object, as its stream does. An object that is gone has no writers.
func LatestWriters(ctx context.Context, objects dynamic.ResourceInterface, object *unstructured.Unstructured, subresource, ours string) ([]string, error) {
	found, err := readByName(ctx, objects, object)
	if err != nil || found == nil {
		return nil, err
	}
	return writersOf(found.GetManagedFields(), subresource, ours), nil
}

// WritersSince is Writers of an object itself, with only those who wrote it at that time or later, by
// the API server's clock: in whole seconds, as managedFields have it.
func WritersSince(ctx context.Context, objects dynamic.ResourceInterface, object *unstructured.Unstructured, ours string, since time.Time) ([]string, error) {
	found, err := readByName(ctx, objects, object)
	if err != nil || found == nil {
		return nil, err
	}
	entries := slices.DeleteFunc(found.GetManagedFields(), func(e metav1.ManagedFieldsEntry) bool { return e.Time == nil || e.Time.Time.Before(since) })
	return writersOf(entries, "", ours), nil
}

// readByName reads an object by a list, which is what Ambit may do; nil: it is gone.
func readByName(ctx context.Context, objects dynamic.ResourceInterface, object *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	byName := fields.OneTermEqualSelector("metadata.name", object.GetName()).String()
	found, err := objects.List(ctx, metav1.ListOptions{FieldSelector: byName})
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading who writes %s %s/%s: %w", object.GetKind(), object.GetNamespace(), object.GetName(), err)
	case len(found.Items) == 0:
		return nil, nil
	}
	return &found.Items[0], nil
}

func writersOf(entries []metav1.ManagedFieldsEntry, subresource, ours string) []string {
	entries = slices.DeleteFunc(entries, func(e metav1.ManagedFieldsEntry) bool { return e.Subresource != subresource || e.Time == nil })
	slices.SortStableFunc(entries, func(a, b metav1.ManagedFieldsEntry) int {
		return cmp.Or(b.Time.Compare(a.Time.Time), trueFirst(a.Manager == ours, b.Manager == ours), cmp.Compare(a.Manager, b.Manager))
	})
	var managers []string
	for _, e := range entries {
		if !slices.Contains(managers, e.Manager) {
			managers = append(managers, e.Manager)
		}
	}
	return managers
}

// trueFirst puts what is true after what is not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}
