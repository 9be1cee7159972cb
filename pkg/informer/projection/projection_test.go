package projection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

func entryOf(manager string) map[string]any {
	return map[string]any{"manager": manager, "operation": "Apply"}
}

// timedEntry is as the API server writes it.
func timedEntry(manager string) map[string]any {
	entry := entryOf(manager)
	entry["time"] = "2026-01-01T00:00:00Z"
	return entry
}

func full() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(2),
			"deletionTimestamp": "2026-01-01T00:00:00Z",
			"labels":            map[string]any{"l": "1"}, "annotations": map[string]any{"big": "text"},
			"managedFields": []any{timedEntry("us"), timedEntry("them"), timedEntry("us"), timedEntry("u/1")},
		},
		"spec": map[string]any{"replicas": int64(1), "template": "big"}, "status": map[string]any{"ready": true},
	}}
}

func TestProject(t *testing.T) {
	always := func() map[string]any {
		return map[string]any{
			"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
			"deletionTimestamp": "2026-01-01T00:00:00Z", "labels": map[string]any{"l": "1"},
		}
	}
	with := func(key string, value any) map[string]any {
		m := always()
		m[key] = value
		return m
	}
	whole := full().Object["metadata"].(map[string]any)
	delete(whole, "managedFields")
	cases := map[string]struct {
		reason  string
		fields  *fields.Set
		manager string
		want    map[string]any
	}{
		"Nothing": {
			"what identifies an object is always kept", nil, "",
			map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": always()},
		},
		"SomeFields": {
			"only what is read", fields.New("spec.replicas", "metadata.generation"), "",
			map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": with("generation", int64(2)), "spec": map[string]any{"replicas": int64(1)}},
		},
		"Manager": {
			"the entries of one manager, and of no other, without their times", nil, "us",
			map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": with("managedFields", []any{entryOf("us"), entryOf("us")})},
		},
		"ManagersBelow": {
			"and of those below it, but of none that only begins the same", nil, "u",
			map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": with("managedFields", []any{entryOf("u/1")})},
		},
		"NoEntries": {
			"a manager that has none", nil, "nobody",
			map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": always()},
		},
		"WholeMetadata": {
			"managedFields do not come with it", fields.New("metadata"), "",
			map[string]any{"apiVersion": "v1", "kind": "Thing", "metadata": whole},
		},
		"Everything": {
			"nor with the whole object", fields.AllFields(), "",
			map[string]any{
				"apiVersion": "v1", "kind": "Thing", "metadata": whole,
				"spec": map[string]any{"replicas": int64(1), "template": "big"}, "status": map[string]any{"ready": true},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := full()
			got, err := New(Config{Manager: c.manager, Fields: c.fields}).ProjectDelivered(obj)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got.Object); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(full(), obj); diff != "" {
				t.Errorf("the input has changed:\n%s", diff)
			}
		})
	}
}

func TestProjectMetadata(t *testing.T) {
	obj := &metav1.PartialObjectMetadata{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "ns", UID: "u", ResourceVersion: "7", Labels: map[string]string{"l": "1"},
			Annotations:       map[string]string{"a": "b"},
			CreationTimestamp: metav1.NewTime(time.Unix(0, 0)),
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "us", Operation: "Apply", Time: &metav1.Time{Time: time.Unix(0, 0)}}, {Manager: "them"}},
		},
	}
	p := New(Config{APIVersion: "apps/v1", Kind: "Deployment", Manager: "us"})
	got, err := p.ProjectDelivered(obj)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
			"labels": map[string]any{"l": "1"}, "managedFields": []any{entryOf("us")},
		},
	}
	if diff := cmp.Diff(want, got.Object); diff != "" {
		t.Errorf("projected (-want +got):\n%s", diff)
	}
	if _, err := p.ProjectDelivered(&metav1.Status{}); err == nil {
		t.Error("a Status was taken for an object")
	}
}
