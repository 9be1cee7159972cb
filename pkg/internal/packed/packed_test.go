package packed

import (
	"encoding/json"
	"math"
	"reflect"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// TestPack: what is unpacked is what was packed, and parts that are shared are the same ones.
func TestPack(t *testing.T) {
	shared, list := map[string]any{"a": int64(1)}, []any{"b"}
	isShared := func(value any) bool {
		switch value := value.(type) {
		case map[string]any:
			return isSame(value, shared)
		case []any:
			return len(value) == 1 && &value[0] == &list[0]
		}
		return false
	}
	content := map[string]any{
		"shared": shared, "list": list, "nested": map[string]any{"again": []any{shared, list, "x"}},
		"metadata": map[string]any{"name": "metadata", "namespace": "metadatum", "labels": map[string]any{"status": "again"}},
		"again":    "again", "texts": []any{"text", "texts", "again", ""},
		"text": "é\x00\xff", "": "", "true": true, "false": false, "nil": nil,
		"ints":   []any{int64(0), int64(-1), int64(math.MaxInt64), int64(math.MinInt64), int64(300)},
		"floats": []any{0.0, 1.0, -0.5, math.MaxFloat64, math.Inf(1)},
		"empty":  map[string]any{}, "emptyList": []any{},
		"nilMap": map[string]any(nil), "nilList": []any(nil), "other": json.Number("12.50"),
	}
	o := PackMap(content, isShared)
	got := o.UnpackMap(nil)
	if diff := cmp.Diff(content, got); diff != "" {
		t.Fatalf("-packed +unpacked:\n%s", diff)
	}
	if again := got["nested"].(map[string]any)["again"].([]any)[0].(map[string]any); !isSame(again, shared) || !isSame(got["shared"].(map[string]any), shared) {
		t.Error("a shared part was copied")
	}
	if isSame(got["nested"].(map[string]any), content["nested"].(map[string]any)) {
		t.Error("a part that is not shared is kept as it was")
	}
	if diff := cmp.Diff(content, o.UnpackMap(nil)); diff != "" {
		t.Errorf("a second time, -packed +unpacked:\n%s", diff)
	}
	if got := (Map{}).UnpackMap(nil); got != nil {
		t.Errorf("the zero Map has %v", got)
	}
}

func isSame(a, b map[string]any) bool {
	return reflect.ValueOf(a).UnsafePointer() == reflect.ValueOf(b).UnsafePointer()
}

// TestStrings: values are taken from what is known, and are else no part of the packed text, which
// whoever keeps one of them would keep with it.
func TestStrings(t *testing.T) {
	known := any("known")
	o := PackMap(map[string]any{"a": "known", "b": "own"}, nil)
	got := o.UnpackMap(func(text string) (any, bool) { return known, text == "known" })
	if got["a"] != known || got["b"] != "own" {
		t.Fatalf("got %v", got)
	}
	begin := uintptr(unsafe.Pointer(unsafe.StringData(o.text)))
	own := uintptr(unsafe.Pointer(unsafe.StringData(got["b"].(string))))
	if own >= begin && own < begin+uintptr(len(o.text)) {
		t.Error("a value is part of the packed text")
	}
}

// FuzzPack: whatever can be read of JSON is what is unpacked.
func FuzzPack(f *testing.F) {
	for _, text := range []string{`{}`, `{"a":[1,2.5,"x",null,true,{}]}`, `{"a":{"b":{"c":-9223372036854775808}},"d":1e300}`, `{"":[[],[[]]]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var content map[string]any
		if utiljson.Unmarshal([]byte(text), &content) != nil || content == nil {
			t.Skip()
		}
		for _, isShared := range []func(any) bool{nil, func(value any) bool { return reflect.ValueOf(value).Len() == 1 }} {
			got := PackMap(content, isShared).UnpackMap(nil)
			if !reflect.DeepEqual(got, content) {
				t.Errorf("packed %v, unpacked %v", content, got)
			}
		}
	})
}
