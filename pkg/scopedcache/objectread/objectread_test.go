package objectread

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

var podKind = corev1.SchemeGroupVersion.WithKind("Pod")

func pod(namespace, name, node, phase string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"phase": phase}},
		Spec:       corev1.PodSpec{NodeName: node}, Status: corev1.PodStatus{Phase: corev1.PodPhase(phase)},
	}
}

// somePods have indexes of their nodes and phases.
func somePods(t *testing.T) toolscache.Indexer {
	t.Helper()
	indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{
		toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc,
		FieldIndex("node"):        NewFieldIndex(func(o client.Object) []string { return []string{o.(*corev1.Pod).Spec.NodeName} }),
		FieldIndex("phase"):       NewFieldIndex(func(o client.Object) []string { return []string{string(o.(*corev1.Pod).Status.Phase)} }),
	})
	for _, p := range []*corev1.Pod{pod("one", "a", "n1", "Running"), pod("one", "b", "n1", "Failed"), pod("two", "a", "n1", "Running"), pod("two", "c", "n2", "Running")} {
		if err := indexer.Add(p); err != nil {
			t.Fatal(err)
		}
	}
	return indexer
}

func exactly(terms ...string) fields.Selector {
	selector, err := fields.ParseSelector(strings.Join(terms, ","))
	if err != nil {
		panic(err)
	}
	return selector
}

// TestListObjects: which objects a list has.
func TestListObjects(t *testing.T) {
	cases := map[string]struct {
		reason string
		given  client.ListOptions
		want   []string
		err    string
	}{
		"All":       {reason: "nothing is asked for", want: []string{"one/a", "one/b", "two/a", "two/c"}},
		"Namespace": {reason: "those of one namespace", given: client.ListOptions{Namespace: "two"}, want: []string{"two/a", "two/c"}},
		"Nowhere":   {reason: "a namespace without any", given: client.ListOptions{Namespace: "three"}},
		"Labels":    {reason: "those that a selector has", given: client.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"phase": "Failed"})}, want: []string{"one/b"}},
		"Field":     {reason: "of all namespaces", given: client.ListOptions{FieldSelector: exactly("node=n1")}, want: []string{"one/a", "one/b", "two/a"}},
		"FieldIn":   {reason: "of one", given: client.ListOptions{Namespace: "two", FieldSelector: exactly("node==n1")}, want: []string{"two/a"}},
		"Fields":    {reason: "all terms have to hold", given: client.ListOptions{FieldSelector: exactly("node=n1", "phase=Running")}, want: []string{"one/a", "two/a"}},
		"NotEqual":  {reason: "an index knows what is equal", given: client.ListOptions{FieldSelector: exactly("node!=n1")}, err: errExact.Error()},
		"NoTerm":    {reason: "a selector of everything has no index", given: client.ListOptions{FieldSelector: fields.Everything()}, err: errExact.Error()},
		"NoIndex":   {reason: "the first field has none", given: client.ListOptions{FieldSelector: exactly("ip=1")}, err: "field:ip does not exist"},
		"NoSecond":  {reason: "nor has another one", given: client.ListOptions{FieldSelector: exactly("node=n1", "zone=1")}, err: "field:zone does not exist"},
		"NoneFound": {reason: "the other fields are not asked for where nothing is found", given: client.ListOptions{FieldSelector: exactly("node=n9", "zone=1")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := ListObjects(somePods(t), tc.given, podKind, 0, false)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s: got error %v, want %q", tc.reason, err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			found := map[string]bool{}
			for _, object := range objects {
				found[client.ObjectKeyFromObject(object.(client.Object)).String()] = true
			}
			want := map[string]bool{}
			for _, key := range tc.want {
				want[key] = true
			}
			if diff := cmp.Diff(want, found); diff != "" || len(objects) != len(tc.want) {
				t.Errorf("%s: %d objects (-want +got):\n%s", tc.reason, len(objects), diff)
			}
		})
	}
}

// TestListLimit: a limit is for what there is already as well.
func TestListLimit(t *testing.T) {
	for _, tc := range []struct {
		limit      int64
		have, want int
	}{{0, 9, 4}, {3, 0, 3}, {3, 2, 1}, {3, 3, 0}, {9, 0, 4}} {
		objects, err := ListObjects(somePods(t), client.ListOptions{Limit: tc.limit}, podKind, tc.have, false)
		if err != nil || len(objects) != tc.want {
			t.Errorf("limit %d, %d there: got %d objects and %v, want %d", tc.limit, tc.have, len(objects), err, tc.want)
		}
	}
}

// TestCopies: a reader may change what it gets, and knows the kind; unless what is stored is shared.
func TestCopies(t *testing.T) {
	for _, shared := range []bool{false, true} {
		stored := pod("one", "a", "n1", "Running")
		indexer := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, nil)
		if err := indexer.Add(stored); err != nil {
			t.Fatal(err)
		}
		objects, err := ListObjects(indexer, client.ListOptions{}, podKind, 0, shared)
		if err != nil || len(objects) != 1 {
			t.Fatal(objects, err)
		}
		read := &corev1.Pod{}
		if err := CopyInto(read, stored, podKind, shared); err != nil {
			t.Fatal(err)
		}
		for how, got := range map[string]*corev1.Pod{"a list": objects[0].(*corev1.Pod), "a get": read} {
			got.Labels["changed"] = how
			if changed := stored.Labels["changed"] == how; changed != shared {
				t.Errorf("%s, shared %v: what is stored was changed: %v", how, shared, changed)
			}
			if hasKind := got.Kind == "Pod"; hasKind == shared {
				t.Errorf("%s, shared %v: it has the kind %q", how, shared, got.Kind)
			}
		}
	}
}

// TestWrongTypes: what is no object, or of another type, is an error and no panic.
func TestWrongTypes(t *testing.T) {
	if err := CopyInto(&corev1.Pod{}, "text", podKind, false); err == nil {
		t.Error("a text was read as a Pod")
	}
	if err := CopyInto(&corev1.Secret{}, pod("one", "a", "", ""), podKind, false); err == nil {
		t.Error("a Pod was read as a Secret")
	}
	if _, err := NewFieldIndex(nil)("text"); err == nil {
		t.Error("a text has an index")
	}
	indexer := toolscache.NewIndexer(func(any) (string, error) { return "text", nil }, nil)
	if err := indexer.Add("text"); err != nil {
		t.Fatal(err)
	}
	if _, err := ListObjects(indexer, client.ListOptions{}, podKind, 0, true); err == nil {
		t.Error("a text is in a list")
	}
}

// TestClusterIndex: what is in no namespace is in the index once.
func TestClusterIndex(t *testing.T) {
	indexOf := NewFieldIndex(func(client.Object) []string { return []string{"x"} })
	for namespace, want := range map[string][]string{"": {"__all_namespaces/x"}, "one": {"one/x", "__all_namespaces/x"}} {
		got, err := indexOf(pod(namespace, "a", "", ""))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("in %q: %v (-want +got):\n%s", namespace, err, diff)
		}
	}
}
