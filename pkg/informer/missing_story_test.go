package informer

import (
	"runtime"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	k8sruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/test/timed"
)

var customResourceDefinitions = schema.GroupVersionResource{
	Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
}

func TestRealMissingKind(t *testing.T) {
	w := newEnv(t, Options{Lookup: fixed(50 * time.Millisecond)}, "")
	namespace := w.namespace()
	w.grant(namespace)
	group := "watch" + strings.ReplaceAll(namespace, "-", "") + ".example.com"
	need := needOf(namespace)
	need.Key.GVR = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	sub := w.listener()
	w.streams.Require(sub, []Interest{need})
	sub.becomes(Missing)

	crds := w.objects.Resource(customResourceDefinitions)
	_, err := crds.Create(t.Context(), thingsCRD(t, group), metav1.CreateOptions{})
	w.must(err)
	sub.next(Synced, "")
	made := thing("a", "1")
	made.SetAPIVersion(group + "/v1")
	_, err = w.objects.Resource(need.Key.GVR).Namespace(namespace).Create(t.Context(), made, metav1.CreateOptions{})
	if err == nil {
		t.Fatal("an object of another namespace was created")
	}
	made.SetNamespace(namespace)
	w.eventually("created", func() bool {
		_, err = w.objects.Resource(need.Key.GVR).Namespace(namespace).Create(t.Context(), made, metav1.CreateOptions{})
		return err == nil
	})
	sub.next(Added, "a")
	w.must(crds.Delete(t.Context(), "things."+group, metav1.DeleteOptions{}))
	sub.next(Deleted, "a") // the API server really deletes the objects first
	sub.becomes(Missing)
}

func thingsCRD(t *testing.T, group string) *unstructured.Unstructured {
	t.Helper()
	anything := true
	crd := &apiextensionsv1.CustomResourceDefinition{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apiextensions.k8s.io/v1", Kind: "CustomResourceDefinition"},
		ObjectMeta: metav1.ObjectMeta{Name: "things." + group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group, Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "things", Singular: "thing", Kind: "Thing", ListKind: "ThingList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything,
				}},
			}},
		},
	}
	content, err := k8sruntime.DefaultUnstructuredConverter.ToUnstructured(crd)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: content}
}

// TestRealKindComesAndGoes: the kind of a live informer is deleted and made again,
// 20 times; nobody else notices, and nothing is left.
func TestRealKindComesAndGoes(t *testing.T) {
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	group := "again" + strings.ReplaceAll(namespace, "-", "") + ".example.com"
	need := needOf(namespace)
	need.Key.GVR = schema.GroupVersionResource{Group: group, Version: "v1", Resource: "things"}
	w.define(group)
	sub, neighbour := w.listener(), w.listener()
	other := w.streams.Require(neighbour, []Interest{configMapsIn(namespace)})[0]
	view := w.streams.Require(sub, []Interest{need})[0]
	neighbour.next(Synced, "")
	w.eventually("live", func() bool { return view.State() == Live })
	epoch, goroutines := other.Status().Epoch, w.goroutines()
	var longest time.Duration
	for range 20 {
		w.undefine(group)
		w.eventually("missing", func() bool { return view.State() == Missing })
		established := w.define(group)
		w.eventually("live", func() bool { return view.State() == Live })
		longest = max(longest, time.Since(established))
	}
	timed.Check(t, "live again after Established", longest, 5*time.Second)
	expect(t, "streams", 2, len(w.streams.States()))
	expect(t, "the neighbour's epoch", epoch, other.Status().Epoch)
	expect(t, "the neighbour is told", 0, len(neighbour.events))
	w.eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines })
	w.eventually("two streams are open", func() bool { return w.open() == 2 })
}

// goroutines is how many there are once their number stays the same: an informer that is Live
// may be about to start its last one.
func (w *env) goroutines() int {
	w.Helper()
	n, since := runtime.NumGoroutine(), time.Now()
	w.eventually("no goroutine begins or ends", func() bool {
		if now := runtime.NumGoroutine(); now != n {
			n, since = now, time.Now()
		}
		return time.Since(since) > 500*time.Millisecond
	})
	return n
}

// define makes the kind of a group, and returns when it was seen Established.
func (w *env) define(group string) time.Time {
	w.Helper()
	crds := w.objects.Resource(customResourceDefinitions)
	w.eventually("the kind is made", func() bool {
		_, err := crds.Create(w.Context(), thingsCRD(w.T, group), metav1.CreateOptions{})
		return err == nil
	})
	w.eventually("established", func() bool {
		crd, err := crds.Get(w.Context(), "things."+group, metav1.GetOptions{})
		return err == nil && isEstablished(crd)
	})
	return time.Now()
}

func (w *env) undefine(group string) {
	w.Helper()
	crds := w.objects.Resource(customResourceDefinitions)
	w.must(crds.Delete(w.Context(), "things."+group, metav1.DeleteOptions{}))
	w.eventually("the kind is gone", func() bool {
		_, err := crds.Get(w.Context(), "things."+group, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func isEstablished(crd *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(crd.Object, "status", "conditions")
	for _, condition := range conditions {
		c, ok := condition.(map[string]any)
		if ok && c["type"] == "Established" && c["status"] == "True" {
			return true
		}
	}
	return false
}
