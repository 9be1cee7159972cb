package kindsettings

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

var podKind, nodeKind = corev1.SchemeGroupVersion.WithKind("Pod"), corev1.SchemeGroupVersion.WithKind("Node")

func settings(t *testing.T, kept map[client.Object][]string, options cache.Options) (*Settings, error) {
	t.Helper()
	mapper := meta.NewDefaultRESTMapper(nil)
	mapper.Add(podKind, meta.RESTScopeNamespace)
	mapper.Add(nodeKind, meta.RESTScopeRoot)
	options.Mapper, options.HTTPClient = mapper, http.DefaultClient
	return New(&rest.Config{}, kept, options)
}

func mustSettings(t *testing.T, kept map[client.Object][]string, options cache.Options) *Settings {
	t.Helper()
	s, err := settings(t, kept, options)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func labelled(text string) labels.Selector { return labels.SelectorFromSet(labels.Set{"by": text}) }

// places says where a kind is watched, and with which selectors.
func places(k *Kind) map[string]string {
	shown := map[string]string{}
	for namespace, config := range k.Namespaces {
		shown[namespace] = selectors(config)
	}
	shown["everywhere"] = selectors(k.Everywhere)
	return shown
}

func selectors(config cache.Config) string {
	var texts []string
	if config.LabelSelector != nil {
		texts = append(texts, config.LabelSelector.String())
	}
	if config.FieldSelector != nil && !config.FieldSelector.Empty() {
		texts = append(texts, config.FieldSelector.String())
	}
	return strings.Join(texts, " ")
}

// TestPlaces: what is said of a namespace of a kind goes first, then of the kind, of the namespace, and of all kinds.
func TestPlaces(t *testing.T) {
	byPod := func(by cache.ByObject) map[client.Object]cache.ByObject {
		return map[client.Object]cache.ByObject{&corev1.Pod{}: by}
	}
	namespaced := map[string]cache.Config{"a": {LabelSelector: labelled("namespace")}, "b": {}}
	cases := map[string]struct {
		reason  string
		kind    schema.GroupVersionKind
		options cache.Options
		want    map[string]string
	}{
		"Nothing":  {reason: "all, in one stream", want: map[string]string{"everywhere": ""}},
		"Defaults": {reason: "for all kinds", options: cache.Options{DefaultLabelSelector: labelled("all")}, want: map[string]string{"everywhere": "by=all"}},
		"Namespaces": {
			reason: "what a namespace lacks is as for all", options: cache.Options{DefaultLabelSelector: labelled("all"), DefaultNamespaces: namespaced},
			want: map[string]string{"a": "by=namespace", "b": "by=all", "everywhere": "by=all"},
		},
		"Kind": {
			reason: "a kind that names no namespaces takes them as they are, and fills what they lack, as controller-runtime does", options: cache.Options{DefaultNamespaces: namespaced, ByObject: byPod(cache.ByObject{Label: labelled("kind")})},
			want: map[string]string{"a": "by=namespace", "b": "by=kind", "everywhere": "by=kind"},
		},
		"KindNamespaces": {
			reason:  "a namespace of the kind goes first, and others are not watched",
			options: cache.Options{DefaultNamespaces: namespaced, ByObject: byPod(cache.ByObject{Label: labelled("kind"), Namespaces: map[string]cache.Config{"b": {LabelSelector: labelled("both")}}})},
			want:    map[string]string{"b": "by=both", "everywhere": "by=kind"},
		},
		"Rest": {
			reason:  "all that are not named are watched together, without those that are",
			options: cache.Options{DefaultNamespaces: map[string]cache.Config{"": {FieldSelector: fields.OneTermEqualSelector("spec.nodeName", "n")}, "b": {}, "a": {}}},
			want:    map[string]string{"": "metadata.namespace!=a,metadata.namespace!=b,spec.nodeName=n", "a": "", "b": "", "everywhere": ""},
		},
		"Cluster": {
			reason: "what has no namespaces is not watched by them", kind: nodeKind,
			options: cache.Options{DefaultNamespaces: namespaced, ByObject: map[client.Object]cache.ByObject{&corev1.Node{}: {Label: labelled("kind")}}},
			want:    map[string]string{"everywhere": "by=kind"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.kind.Empty() {
				tc.kind = podKind
			}
			k, err := mustSettings(t, nil, tc.options).NewKind(Key{tc.kind, Unstructured})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, places(k)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRefused: what cannot be is an error of New or of NewKind.
func TestRefused(t *testing.T) {
	unknown := &unstructured.Unstructured{}
	unknown.SetAPIVersion("example.com/v1")
	unknown.SetKind("Nothing")
	cases := map[string]struct {
		kept    map[client.Object][]string
		options cache.Options
		want    string
	}{
		"NoSuchField":      {kept: map[client.Object][]string{&corev1.Pod{}: {"spec.nodename"}}, want: "nodename"},
		"FieldsOfNothing":  {kept: map[client.Object][]string{&metav1.PartialObjectMetadata{}: {"spec"}}, want: "failed to get GVK"},
		"UnknownKind":      {options: cache.Options{ByObject: map[client.Object]cache.ByObject{unknown: {}}}, want: "failed to determine if"},
		"ClusterNamespace": {options: cache.Options{ByObject: map[client.Object]cache.ByObject{&corev1.Node{}: {Namespaces: map[string]cache.Config{"a": {}}}}}, want: "is not namespaced"},
	}
	for name, tc := range cases {
		if _, err := settings(t, tc.kept, tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: got %v, want %q", name, err, tc.want)
		}
	}
	s := mustSettings(t, nil, cache.Options{})
	if _, err := s.NewKind(Key{unknown.GroupVersionKind(), Unstructured}); !meta.IsNoMatchError(err) {
		t.Errorf("a kind that is not served: %v", err)
	}
}

// TestKeyOf: a list has the key of its objects, and each Go type its flavor.
func TestKeyOf(t *testing.T) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("PodList"))
	metadata := &metav1.PartialObjectMetadata{}
	metadata.SetGroupVersionKind(podKind)
	s := mustSettings(t, nil, cache.Options{})
	for _, tc := range []struct {
		object runtime.Object
		want   Key
	}{{&corev1.Pod{}, Key{podKind, Typed}}, {&corev1.PodList{}, Key{podKind, Typed}}, {list, Key{podKind, Unstructured}}, {metadata, Key{podKind, Metadata}}} {
		for range 2 { // the second time it is remembered
			if got, err := s.KeyOf(tc.object); got != tc.want || err != nil {
				t.Errorf("%T: got %v and %v, want %v", tc.object, got, err, tc.want)
			}
		}
	}
	if _, err := s.KeyOf(&unstructured.Unstructured{}); err == nil {
		t.Error("an object without a kind has a key")
	}
}

// TestTransformer: what is kept of an object, in what order.
func TestTransformer(t *testing.T) {
	s := mustSettings(t, map[client.Object][]string{&corev1.Pod{}: {"spec.nodeName"}}, cache.Options{})
	marks := func(object any) (any, error) {
		object.(*corev1.Pod).Spec.NodeName += "!"
		object.(*corev1.Pod).Spec.Hostname = "set by the transform"
		return object, nil
	}
	k, err := s.NewKind(Key{podKind, Typed})
	if err != nil {
		t.Fatal(err)
	}
	got, err := k.Transformer(cache.Config{Transform: marks})(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{NodeName: "n", SchedulerName: "s"}})
	want := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{NodeName: "n!"}}
	if diff := cmp.Diff(any(want), got); diff != "" || err != nil {
		t.Errorf("a Pod that is kept in part: %v (-want +got):\n%s", err, diff)
	}
	metadata := &Kind{Key: Key{podKind, Metadata}}
	if got, err := metadata.Transformer(cache.Config{})(&metav1.PartialObjectMetadata{}); err != nil || got.(*metav1.PartialObjectMetadata).Kind != "Pod" {
		t.Errorf("metadata has no kind: %v, %v", got, err)
	}
	if whole := (&Kind{Key: Key{nodeKind, Typed}}).Transformer(cache.Config{}); whole != nil {
		t.Error("what is kept whole is transformed")
	}
}

// TestIsKeptWhole: by the kind, and by the field of a subresource.
func TestIsKeptWhole(t *testing.T) {
	s := mustSettings(t, map[client.Object][]string{&corev1.Pod{}: {"spec.nodeName", "status"}}, cache.Options{})
	for _, tc := range []struct {
		kind        schema.GroupVersionKind
		subresource string
		want        bool
	}{{nodeKind, "", true}, {nodeKind, "status", true}, {podKind, "", false}, {podKind, "spec", false}, {podKind, "status", true}, {podKind, "other", false}} {
		if got := s.IsKeptWhole(tc.kind, tc.subresource); got != tc.want {
			t.Errorf("%s %q: got %v", tc.kind.Kind, tc.subresource, got)
		}
	}
}

// asked is a source that notes whether bookmarks are asked for.
type asked struct {
	listwatch.Source
	bookmarks bool
}

func (a *asked) Watch(_ context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	a.bookmarks = opts.AllowWatchBookmarks
	return watch.NewFake(), nil
}

// TestBookmarks: who wants none gets the one alone that ends a first list.
func TestBookmarks(t *testing.T) {
	s := mustSettings(t, nil, cache.Options{})
	for _, tc := range []struct {
		enabled *bool
		initial *bool
		want    bool
	}{{nil, nil, true}, {ptr.To(true), nil, true}, {ptr.To(false), nil, false}, {ptr.To(false), ptr.To(false), false}, {ptr.To(false), ptr.To(true), true}} {
		below := &asked{}
		s.Connect = func(Key, *meta.RESTMapping, string) (listwatch.Source, error) { return below, nil }
		k, err := s.NewKind(Key{podKind, Unstructured})
		if err != nil {
			t.Fatal(err)
		}
		source, err := k.MakeSource("one", cache.Config{EnableWatchBookmarks: tc.enabled})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := source.Watch(t.Context(), metav1.ListOptions{AllowWatchBookmarks: true, SendInitialEvents: tc.initial}); err != nil {
			t.Fatal(err)
		}
		if below.bookmarks != tc.want {
			t.Errorf("enabled %v, with a first list %v: asked for %v", ptr.Deref(tc.enabled, true), ptr.Deref(tc.initial, false), below.bookmarks)
		}
	}
}

// TestDecodeObject: each flavor decodes to its own type; a client of a type leaves out what the type says.
func TestDecodeObject(t *testing.T) {
	const text = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"},"spec":{"nodeName":"n"}}`
	s := mustSettings(t, nil, cache.Options{})
	for flavor, want := range map[Flavor]runtime.Object{
		Typed: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{NodeName: "n"}},
		Unstructured: &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "a"}, "spec": map[string]any{"nodeName": "n"},
		}},
	} {
		k, err := s.NewKind(Key{podKind, flavor})
		if err != nil {
			t.Fatal(err)
		}
		got, err := k.DecodeObject([]byte(text))
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", flavor, err, diff)
		}
		if _, err := k.DecodeObject([]byte(`{`)); err == nil {
			t.Errorf("%s: half a text was decoded", flavor)
		}
	}
}
