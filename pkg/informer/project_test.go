package informer

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

func entryOf(manager string) map[string]any {
	return map[string]any{"manager": manager, "operation": "Apply"}
}

func full() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Thing",
		"metadata": map[string]any{
			"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7", "generation": int64(2),
			"deletionTimestamp": "2026-01-01T00:00:00Z",
			"labels":            map[string]any{"l": "1"}, "annotations": map[string]any{"big": "text"},
			"managedFields": []any{entryOf("us"), entryOf("them"), entryOf("us"), entryOf("u/1")},
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
			"the entries of one manager, and of no other", nil, "us",
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
			"nor with the whole object", fields.All(), "",
			map[string]any{
				"apiVersion": "v1", "kind": "Thing", "metadata": whole,
				"spec": map[string]any{"replicas": int64(1), "template": "big"}, "status": map[string]any{"ready": true},
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			obj := full()
			need := Interest{Key: Key{Form: Form{Manager: c.manager}}, Fields: c.fields}
			got, err := newProjector(need).projectDelivered(obj)
			if err != nil {
				t.Fatal(err)
			}
			expect(t, c.reason, c.want, got.Object)
			expect(t, "the input is not changed", full(), obj)
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
			ManagedFields:     []metav1.ManagedFieldsEntry{{Manager: "us", Operation: "Apply"}, {Manager: "them"}},
		},
	}
	need := Interest{
		Key: Key{
			GVR:  schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"},
			Form: Form{Metadata: true, Manager: "us"},
		},
		Kind: "Deployment",
	}
	got, err := newProjector(need).projectDelivered(obj)
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "projected", map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment",
		"metadata": map[string]any{
			"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7",
			"labels": map[string]any{"l": "1"}, "managedFields": []any{entryOf("us")},
		},
	}, got.Object)
	if _, err := newProjector(need).projectDelivered(&metav1.Status{}); err == nil {
		t.Error("a Status was taken for an object")
	}
}

func TestEqual(t *testing.T) {
	change := func(path []string, value any) *unstructured.Unstructured {
		obj := full()
		if err := unstructured.SetNestedField(obj.Object, value, path...); err != nil {
			t.Fatal(err)
		}
		return obj
	}
	cases := map[string]struct {
		reason string
		other  *unstructured.Unstructured
		want   bool
	}{
		"Same":            {"nothing differs", full(), true},
		"ResourceVersion": {"it changes with every write", change([]string{"metadata", "resourceVersion"}, "8"), true},
		"Generation":      {"kstatus reads it", change([]string{"metadata", "generation"}, int64(3)), false},
		"Label":           {"labels select", change([]string{"metadata", "labels", "l"}, "2"), false},
		"MoreLabels":      {"labels select", change([]string{"metadata", "labels", "m"}, "2"), false},
		"Spec":            {"a number", change([]string{"spec", "replicas"}, int64(2)), false},
		"Type":            {"1 is not 1.0: types are told apart, for readers may", change([]string{"spec", "replicas"}, 1.0), false},
		"Missing":         {"null is not nothing", change([]string{"spec", "other"}, nil), false},
		"List":            {"an element", change([]string{"metadata", "managedFields"}, []any{entryOf("us"), entryOf("them"), entryOf("they")}), false},
		"ShortList":       {"a length", change([]string{"metadata", "managedFields"}, []any{entryOf("us")}), false},
		"SpecVersion":     {"only metadata.resourceVersion is irrelevant", change([]string{"spec", "resourceVersion"}, "8"), false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expect(t, c.reason, c.want, equalObjects(full(), c.other))
			expect(t, "the other way round", c.want, equalObjects(c.other, full()))
		})
	}
}

func TestSelector(t *testing.T) {
	obj := full()
	cases := map[string]struct {
		reason string
		key    Key
		want   selection
	}{
		"Everything":     {"no selector", Key{}, selected},
		"Namespace":      {"its own", Key{Namespace: "ns"}, selected},
		"OtherNamespace": {"another", Key{Namespace: "other"}, notSelected},
		"Label":          {"it has it", Key{LabelSelector: "l=1,!m"}, selected},
		"OtherLabel":     {"it has another", Key{LabelSelector: "l in (2,3)"}, notSelected},
		"Name":           {"a term that is known here", Key{FieldSelector: "metadata.name=a,metadata.namespace=ns"}, selected},
		"OtherName":      {"a term that is known here", Key{FieldSelector: "metadata.name!=a"}, notSelected},
		"Field":          {"how it is read only the API server knows", Key{FieldSelector: "status.phase=Running"}, selectionUnknown},
		"FieldAndLabel":  {"the label decides", Key{FieldSelector: "status.phase=Running", LabelSelector: "l=2"}, notSelected},
		"FieldAndName":   {"the name decides", Key{FieldSelector: "status.phase=Running,metadata.name=b"}, notSelected},
		"FieldOfIt":      {"the name does not", Key{FieldSelector: "metadata.name=a,status.phase=Running"}, selectionUnknown},
		"Nonsense":       {"the API server will refuse it", Key{LabelSelector: "=="}, selectionUnknown},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { expect(t, c.reason, c.want, newSelector(c.key).evaluate(obj)) })
	}
}

func TestKeys(t *testing.T) {
	base := needOf("ns").Key
	other := base
	other.Identity, other.LabelSelector, other.FieldSelector = "bob", "a=b", "metadata.name=c"
	expect(t, "text", `things.example.com in "ns"`, base.String())
	expect(t, "text", `things.example.com in "ns" with a=b with metadata.name=c as bob`, other.String())
	metadata := base
	metadata.Form.Metadata = true
	expect(t, "order", []int{-1, 1, 0, -1}, []int{
		compareKeys(base, other), compareKeys(other, base), compareKeys(other, other), compareKeys(base, metadata),
	})
}
