package scopedcache

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
)

var (
	secretKind  = corev1.SchemeGroupVersion.WithKind("Secret")
	ingressKind = networkingv1.SchemeGroupVersion.WithKind("IngressClass")
)

// form is a kind in a flavor.
type form struct {
	gvk    schema.GroupVersionKind
	flavor kindsettings.Flavor
}

func (f form) isNamespaced() bool { return f.gvk == secretKind }

// newObject returns an empty object.
func (f form) newObject() client.Object {
	var made client.Object = &corev1.Secret{}
	switch {
	case f.flavor == kindsettings.Unstructured:
		made = &unstructured.Unstructured{}
	case f.flavor == kindsettings.Metadata:
		made = &metav1.PartialObjectMetadata{}
	case !f.isNamespaced():
		return &networkingv1.IngressClass{}
	default:
		return made
	}
	made.GetObjectKind().SetGroupVersionKind(f.gvk)
	return made
}

// newList returns an empty list.
func (f form) newList() client.ObjectList {
	var made client.ObjectList = &corev1.SecretList{}
	switch {
	case f.flavor == kindsettings.Unstructured:
		made = &unstructured.UnstructuredList{}
	case f.flavor == kindsettings.Metadata:
		made = &metav1.PartialObjectMetadataList{}
	case !f.isNamespaced():
		return &networkingv1.IngressClassList{}
	default:
		return made
	}
	made.GetObjectKind().SetGroupVersionKind(f.gvk.GroupVersion().WithKind(f.gvk.Kind + "List"))
	return made
}

// move is one step of a run.
type move struct {
	What            string
	Form            form
	Namespace, Name string
	Half, Data      string // a label that selectors look at, and an annotation that indexes look at
	Field           string
	List            listMove
	Shared          *bool // UnsafeDisableDeepCopy of a read
	Blocking        bool
	ByKind          bool // GetInformerForKind
}

// GoString implements fmt.GoStringer: it is what a failure shows.
func (m move) GoString() string {
	return fmt.Sprintf("\n{%s %s %s %q/%q half %q data %q field %q list %+v shared %v blocking %t by kind %t}", m.What, m.Form.flavor, m.Form.gvk.Kind,
		m.Namespace, m.Name, m.Half, m.Data, m.Field, m.List, ptr.Deref(m.Shared, false), m.Blocking, m.ByKind)
}

// listMove is what is drawn for a list.
type listMove struct {
	Label, Field, Continue string
	Limit                  int64
}

func (m move) listOptions() []client.ListOption {
	given := &client.ListOptions{Namespace: m.Namespace, Limit: m.List.Limit, Continue: m.List.Continue, UnsafeDisableDeepCopy: m.Shared}
	if m.List.Label != "" {
		given.LabelSelector = labels.SelectorFromSet(labels.Set{"half": m.List.Label})
	}
	if m.List.Field != "" {
		given.FieldSelector = fields.ParseSelectorOrDie(m.List.Field)
	}
	return []client.ListOption{given}
}

// moves are what happens, each as often as it is named.
var moves = []string{"write", "write", "write", "write", "delete", "get", "get", "list", "list", "informer", "informer", "handler", "handler", "unhandle", "index", "remove"}

// drawMove draws a step. "nowhere" is a namespace that is not there, and "c" an object that is not.
func drawMove(namespaces []string) *rapid.Generator[move] {
	flavors, kinds := []kindsettings.Flavor{kindsettings.Typed, kindsettings.Unstructured, kindsettings.Metadata}, []schema.GroupVersionKind{secretKind, secretKind, secretKind, ingressKind}
	return rapid.Custom(func(t *rapid.T) move {
		return move{
			What:      rapid.SampledFrom(moves).Draw(t, "what"),
			Form:      form{rapid.SampledFrom(kinds).Draw(t, "kind"), rapid.SampledFrom(flavors).Draw(t, "flavor")},
			Namespace: rapid.SampledFrom(append(slices.Clone(namespaces), "", "nowhere")).Draw(t, "namespace"),
			Name:      rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
			Half:      rapid.SampledFrom([]string{"1", "2", ""}).Draw(t, "half"),
			Data:      rapid.SampledFrom([]string{"x", "y"}).Draw(t, "data"),
			Field:     rapid.SampledFrom([]string{"data", "half"}).Draw(t, "field"),
			List: listMove{
				Label:    rapid.SampledFrom([]string{"", "1", "2"}).Draw(t, "label"),
				Field:    rapid.SampledFrom([]string{"", "", "data=x", "half=1,data=x", "data=x,half=2", "data=z,half=1", "data!=x", "metadata.name=a"}).Draw(t, "fields"),
				Continue: rapid.SampledFrom([]string{"", "", "", "", "", "", "", "more"}).Draw(t, "continue"),
				Limit:    rapid.SampledFrom([]int64{0, 0, 0, 1, 2}).Draw(t, "limit"),
			},
			Shared:   drawFlag(t, "shared"),
			Blocking: rapid.Bool().Draw(t, "blocking"),
			ByKind:   rapid.Bool().Draw(t, "by kind"),
		}
	})
}

func drawFlag(t *rapid.T, label string) *bool {
	return rapid.SampledFrom([]*bool{nil, nil, ptr.To(true), ptr.To(false)}).Draw(t, label)
}

// drawConfig draws what may be said of one namespace. Each selector that selects anything selects a barrier. cache.New
// without bookmarks never syncs.
func drawConfig(t *rapid.T) cache.Config {
	made := cache.Config{UnsafeDisableDeepCopy: drawFlag(t, "unsafe"), EnableWatchBookmarks: rapid.SampledFrom([]*bool{nil, ptr.To(true)}).Draw(t, "bookmarks")}
	if text := rapid.SampledFrom([]string{"-", "-", "", "half=1", "half!=1", "half in (1,2)", "half=3"}).Draw(t, "labels"); text != "-" {
		made.LabelSelector, _ = labels.Parse(text) // they are right
	}
	if text := rapid.SampledFrom([]string{"-", "-", "-", "", "metadata.name!=a"}).Draw(t, "fields"); text != "-" {
		made.FieldSelector = fields.ParseSelectorOrDie(text)
	}
	switch rapid.IntRange(0, 3).Draw(t, "transform") {
	case 1:
		made.Transform = cache.TransformStripManagedFields()
	case 2, 3:
		made.Transform = markObject
	}
	return made
}

// markObject is a transform that a reader can see.
func markObject(object any) (any, error) {
	accessor, err := meta.Accessor(object)
	if err != nil {
		return nil, err
	}
	annotations := accessor.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations["marked"] = fmt.Sprintf("%T", object)
	accessor.SetAnnotations(annotations)
	return object, nil
}

// drawNamespaces draws a configuration by namespace, nil among them.
func drawNamespaces(t *rapid.T, namespaces []string) map[string]cache.Config {
	names := append(slices.Clone(namespaces), cache.AllNamespaces)
	chosen := rapid.SampledFrom([][]string{nil, nil, names[:1], names[:2], names[1:3], names[2:], {names[0], cache.AllNamespaces}, {cache.AllNamespaces}, {}}).Draw(t, "namespaces")
	if chosen == nil {
		return nil
	}
	made := map[string]cache.Config{}
	for _, name := range chosen {
		made[name] = drawConfig(t)
	}
	return made
}

// drawAlike draws options of which cache.New understands all.
func drawAlike(t *rapid.T, namespaces []string) cache.Options {
	all := drawConfig(t)
	options := cache.Options{
		DefaultLabelSelector: all.LabelSelector, DefaultFieldSelector: all.FieldSelector, DefaultTransform: all.Transform,
		DefaultUnsafeDisableDeepCopy: all.UnsafeDisableDeepCopy, DefaultEnableWatchBookmarks: all.EnableWatchBookmarks,
		DefaultNamespaces:           drawNamespaces(t, namespaces),
		ReaderFailOnMissingInformer: rapid.IntRange(0, 3).Draw(t, "fail on missing") == 3,
		ByObject:                    map[client.Object]cache.ByObject{},
	}
	if rapid.Bool().Draw(t, "by object") {
		by := byObject(drawConfig(t))
		by.Namespaces = drawNamespaces(t, namespaces)
		if by.Field == nil && rapid.Bool().Draw(t, "by field") {
			by.Field = rapid.SampledFrom([]fields.Selector{
				fields.OneTermEqualSelector("metadata.namespace", namespaces[0]), fields.OneTermEqualSelector("type", "Opaque"), fields.Everything(),
			}).Draw(t, "field")
		}
		example := form{secretKind, rapid.SampledFrom([]kindsettings.Flavor{kindsettings.Typed, kindsettings.Unstructured, kindsettings.Metadata}).Draw(t, "example")}
		options.ByObject[example.newObject()] = by
	}
	if rapid.IntRange(0, 3).Draw(t, "by another") == 3 {
		options.ByObject[form{gvk: ingressKind, flavor: kindsettings.Typed}.newObject()] = byObject(drawConfig(t))
	}
	return options
}

func byObject(c cache.Config) cache.ByObject {
	return cache.ByObject{
		Label: c.LabelSelector, Field: c.FieldSelector, Transform: c.Transform,
		UnsafeDisableDeepCopy: c.UnsafeDisableDeepCopy, EnableWatchBookmarks: c.EnableWatchBookmarks,
	}
}
