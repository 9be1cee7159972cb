package projection

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// TestDecodeIsProjection: an object of which only what is kept is made is the same as one
// that is made whole and projected, whatever was met before.
func TestDecodeIsProjection(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := Config{Fields: drawFields(t), Manager: rapid.SampledFrom([]string{"", "us"}).Draw(t, "manager")}
		decoding, projecting := New(config), New(config)
		for range rapid.IntRange(1, 8).Draw(t, "objects") {
			object := drawMap(t, 3)
			object["apiVersion"], object["kind"] = "v1", "Thing"
			if rapid.Bool().Draw(t, "metadata") {
				metadata := drawMap(t, 3)
				if rapid.Bool().Draw(t, "managed") {
					metadata["managedFields"] = drawEntries(t)
				}
				object["metadata"] = metadata
			}
			data, err := json.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			got, err := decoding.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			whole := map[string]any{}
			if err := utiljson.Unmarshal(data, &whole); err != nil {
				t.Fatal(err)
			}
			want, err := projecting.ProjectDelivered(&unstructured.Unstructured{Object: whole})
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want.Object, got.Object); diff != "" {
				t.Fatalf("%s of %s (-projected +decoded):\n%s", config.Fields, data, diff)
			}
		}
	})
}

func drawFields(t *rapid.T) *fields.Set {
	if rapid.IntRange(0, 9).Draw(t, "whole") == 0 {
		return fields.AllFields()
	}
	set := fields.New()
	element := rapid.SampledFrom([]string{"a", "b", "name", "metadata", "managedFields", fields.Any})
	for range rapid.IntRange(0, 4).Draw(t, "paths") {
		path := rapid.SliceOfN(element, 1, 4).Draw(t, "path")
		if rapid.Bool().Draw(t, "presence") {
			set.AddPresence(path...)
			continue
		}
		set.Add(path...)
	}
	return set
}

func drawEntries(t *rapid.T) any {
	entries := []any{}
	for range rapid.IntRange(0, 3).Draw(t, "entries") {
		entry := drawMap(t, 2)
		if manager := rapid.SampledFrom([]string{"", "us", "us/1", "usual"}).Draw(t, "of"); manager != "" {
			entry["manager"] = manager
		}
		entries = append(entries, entry)
	}
	return entries
}

// TestDecodeShares: what objects have in common is there once, also with one that came another way.
func TestDecodeShares(t *testing.T) {
	p := New(Config{Fields: fields.New("spec"), Manager: "us"})
	object := thing("a", map[string]any{"own": "a", "template": map[string]any{"list": []any{"a", map[string]any{"b": int64(1)}}}})
	first, err := p.ProjectDelivered(object)
	if err != nil {
		t.Fatal(err)
	}
	data := strings.ReplaceAll(string(encode(t, object)), `"own":"a"`, `"own":"b"`)
	second, err := p.Decode([]byte(data))
	if err != nil {
		t.Fatal(err)
	}
	if !identicalValue(templateOf(first), templateOf(second.Unstructured)) {
		t.Error("the template is there twice")
	}
	if identicalValue(first.Object["spec"], second.Object["spec"]) {
		t.Error("different parts are one")
	}
}

// TestDecodeSameText: the same text is the same part, but not where other fields of it are kept, and not
// if it cannot be read.
func TestDecodeSameText(t *testing.T) {
	p := New(Config{Fields: fields.New("a", "b.x", "c.y")})
	const long = `{"x":"` + "0123456789012345678901234567890123456789" + `","y":"` + "0123456789012345678901234567890123456789" + `","z":[1,2]}`
	data := []byte(`{"a":` + long + `,"b":` + long + `,"c":` + long + `}`)
	var objects []map[string]any
	for range 2 {
		object, err := p.Decode(data)
		if err != nil {
			t.Fatal(err)
		}
		objects = append(objects, object.Object)
	}
	want := map[string]any{
		"a": map[string]any{"x": strings.Repeat("0123456789", 4), "y": strings.Repeat("0123456789", 4), "z": []any{int64(1), int64(2)}},
		"b": map[string]any{"x": strings.Repeat("0123456789", 4)},
		"c": map[string]any{"y": strings.Repeat("0123456789", 4)},
	}
	if diff := cmp.Diff(want, objects[1]); diff != "" {
		t.Errorf("read again (-want +got):\n%s", diff)
	}
	for key := range want {
		if !identicalValue(objects[0][key], objects[1][key]) {
			t.Errorf("%q is there twice", key)
		}
	}
	if read := p.interner.read.count(); read != len(want) {
		t.Errorf("%d texts are remembered, want %d", read, len(want))
	}
	wrong := []byte(`{"a":` + strings.ReplaceAll(long, "1,2", "1e999") + `}`)
	for range 2 {
		if object, err := p.Decode(wrong); err == nil {
			t.Errorf("1e999 was taken for a number: %v", object)
		}
	}
}

// TestDecodeDeep: what is nested deeply is read in a time that grows with its length.
func TestDecodeDeep(t *testing.T) {
	p := New(Config{Fields: fields.New("a")})
	const depth = 9000
	data := `{"a":` + strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth) + `}`
	if _, err := p.Decode([]byte(data)); err != nil {
		t.Fatal(err)
	}
	if read := p.interner.read.count(); read > deepText {
		t.Errorf("the digests of %d texts were made, want at most %d", read, deepText)
	}
}

func TestDecodeErrors(t *testing.T) {
	p := New(Config{Fields: fields.AllFields()})
	for _, data := range []string{`[]`, `"x"`, `null`, `{"a":1e999}`} {
		if object, err := p.Decode([]byte(data)); err == nil {
			t.Errorf("%s was taken for %v", data, object)
		}
	}
}

// FuzzDecode: whatever a server sends, both ways make the same of it.
func FuzzDecode(f *testing.F) {
	for _, data := range []string{
		`{}`, `{"metadata":null}`, `{"metadata":{"name":1,"uid":"\u00e9\ud83d","managedFields":[1,{"manager":"us"},{"manager":"us","manager":"x"}]}}`,
		`{"spec":{"a":[1,-0,1.5,1e3,9223372036854775808,true,null,"\"\\\n",{"":[]}]} , "spec":{"b":2}}`, "{\"a\":\"\xff\",\"\xfe\":1}",
	} {
		f.Add([]byte(data))
	}
	set := fields.New("spec.a", "spec.b.*.c", "metadata.generation", "a")
	f.Fuzz(func(t *testing.T, data []byte) {
		if jsonwalk.CheckJSON(data) != nil || strings.Count(string(data), "[")+strings.Count(string(data), "{") > 1000 {
			return
		}
		p := New(Config{Fields: set, Manager: "us"})
		first, firstErr := p.Decode(data)
		got, err := p.Decode(data)
		if (firstErr == nil) != (err == nil) || err == nil && !cmp.Equal(first.Object, got.Object) {
			t.Fatalf("%q is read as %v, error %v, and then as %v, error %v", data, first, firstErr, got, err)
		}
		whole := map[string]any{}
		if wrong := utiljson.Unmarshal(data, &whole); wrong != nil || err != nil {
			return // what is not read is not looked at
		}
		want, err := p.ProjectDelivered(&unstructured.Unstructured{Object: whole})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want.Object, got.Object); diff != "" {
			t.Errorf("of %q (-projected +decoded):\n%s", data, diff)
		}
	})
}

func encode(t *testing.T, object *unstructured.Unstructured) []byte {
	t.Helper()
	data, err := object.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	return data
}
