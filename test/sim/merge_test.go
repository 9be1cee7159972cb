package sim

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws/fewer"
)

// TestMergeTwin: a merge patch of an object makes what the API server's library makes of
// their texts.
func TestMergeTwin(t *testing.T) {
	field := rapid.SampledFrom([]string{"a", "b", "c"})
	object := rapid.MapOfN(field, anyValue(field, 3), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		obj, patch := object.Draw(t, "object"), object.Draw(t, "patch")
		text, err := jsonpatch.MergePatch(marshal(t, obj), marshal(t, patch))
		if err != nil {
			t.Fatal(err)
		}
		got := unmarshal(t, marshal(t, obj))
		merge(got, unmarshal(t, marshal(t, patch)))
		if diff := cmp.Diff(unmarshal(t, text), got); diff != "" {
			t.Errorf("object %s, patch %s (-library +merge):\n%s", marshal(t, obj), marshal(t, patch), diff)
		}
	})
}

// anyValue draws JSON of some depth.
func anyValue(field *rapid.Generator[string], depth int) *rapid.Generator[any] {
	scalars := []*rapid.Generator[any]{
		rapid.Just[any](nil), rapid.Just[any]("text"), rapid.Just[any](true), rapid.Just[any](int64(1)<<60 + 1), rapid.Just[any](0.5),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	inner := anyValue(field, depth-1)
	return rapid.OneOf(append(scalars,
		rapid.SliceOfN(inner, 0, 2).AsAny(), rapid.MapOfN(field, inner, 0, 3).AsAny(), rapid.MapOfN(field, inner, 0, 3).AsAny())...)
}

func marshal(t *rapid.T, obj any) []byte {
	text, err := json.Marshal(obj)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func unmarshal(t *rapid.T, text []byte) (obj map[string]any) {
	if err := utiljson.Unmarshal(text, &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// TestPatchTwin: a patch that is decoded, and whose fields are managed, in parts is stored as
// if all of the object had been.
func TestPatchTwin(t *testing.T) {
	text := rapid.SampledFrom([]any{nil, "a", "b"})
	texts := rapid.MapOfN(rapid.SampledFrom([]string{"a", "b"}), text, 0, 2).AsAny()
	values := map[string]*rapid.Generator[any]{
		"labels": texts, "annotations": texts, "finalizers": rapid.SliceOfN(rapid.SampledFrom([]any{"example.com/a", "example.com/b"}), 0, 2).AsAny(),
		"data": texts, "binaryData": rapid.Just[any](map[string]any{"c": "YQ=="}), "immutable": rapid.SampledFrom([]any{nil, false}),
		"status": rapid.SampledFrom([]any{nil, map[string]any{"unknown": "a"}}),
	}
	rapid.Check(t, func(t *rapid.T) {
		server := New(Options{})
		gvr := schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
		live := emptyObject(gvr.GroupVersion().WithKind("ConfigMap"))
		live.SetName("one")
		if _, err := server.As(Admin).Dynamic().Resource(gvr).Namespace("default").Create(t.Context(), live, metav1.CreateOptions{FieldManager: "a"}); err != nil {
			t.Fatal(err)
		}
		for range rapid.IntRange(1, 6).Draw(t, "patches") {
			patch := map[string]any{}
			for _, field := range rapid.SliceOfN(rapid.SampledFrom(slices.Sorted(maps.Keys(values))), 1, 3).Draw(t, "fields") {
				if field == "labels" || field == "annotations" || field == "finalizers" {
					setNested(patch, values[field].Draw(t, field), "metadata", field)
				} else {
					patch[field] = values[field].Draw(t, field)
				}
			}
			manager, data := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "manager"), marshal(t, patch)
			request := Request{User: Admin, Verb: "patch", Resource: gvr, Namespace: "default", Name: "one"}
			err := server.handle(request, func(c *call) error {
				before := c.live("one")
				got, err := c.patched(before, types.MergePatchType, data, false)
				if err != nil {
					return err
				}
				if got, err = c.manage(before, got, manager), c.checkName(got); err != nil {
					return err
				}
				whole, err := c.patchObject(before.Object, types.MergePatchType, data)
				if err != nil {
					return err
				}
				want := &unstructured.Unstructured{Object: unmarshal(t, whole)}
				if err := c.decodeStrictly(want, false); err != nil {
					return err
				}
				want = c.served.fieldManager("").UpdateNoErrors(before, want, manager).(*unstructured.Unstructured)
				if diff := cmp.Diff(want.Object, got.Object); diff != "" {
					t.Errorf("patch %s by %s (-whole +parts):\n%s", data, manager, diff)
				}
				_, err = c.patch(types.MergePatchType, data, false, intent{manager: manager})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	})
}
