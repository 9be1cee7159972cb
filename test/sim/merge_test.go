package sim

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
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
