package jsonwalk

import (
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// texts are values with all that JSON has, and that servers do not send.
var texts = []string{
	`null`, `true`, ` false `, `0`, `-0`, `-12`, `9223372036854775807`, `9223372036854775808`, `1.0`, `1e3`, `-1.5E-3`,
	`""`, `"a"`, `"\""`, `"\\"`, `"\\\""`, `"a\\"`, `"\u00e9\ud83d\ude00 \ud83d \n"`, "\"\xff\xfe\"", "\"\xff\\n\"",
	`[]`, `[ ]`, `[1,"]",[{}],{"a":"}"}]`, "[1 ,\n2\t]",
	`{}`, `{ }`, `{"a":1,"b":{"c":[true,null]},"":""}`, `{"a":1,"a":{"b":2}}`, `{"a":{"x":1},"a":{"y":2}}`, `{"\u0061" : [ ] , "\"" : {}}`,
}

// TestValue: what is read is what Kubernetes' clients make of the same text.
func TestValue(t *testing.T) {
	for _, text := range texts {
		var want any
		if err := utiljson.Unmarshal([]byte(text), &want); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		w := New([]byte(text))
		if diff := cmp.Diff(want, w.ReadValue()); diff != "" || w.Err() != nil {
			t.Errorf("%s: error %v (-want +got):\n%s", text, w.Err(), diff)
		}
		if kind := w.NextKind(); kind != 0 {
			t.Errorf("behind %s there is %q", text, kind)
		}
	}
}

// TestSkip: the value is returned as it stands, and the Walker is before what comes next.
func TestSkip(t *testing.T) {
	for _, text := range texts {
		w := New([]byte("[" + text + ` , "next"]`))
		w.EnterNested()
		if got := string(w.SkipValue()); got != strings.TrimSpace(text) {
			t.Errorf("%s was skipped as %s", text, got)
		}
		if !w.NextElement() || string(w.ReadText()) != "next" || w.NextElement() {
			t.Errorf("behind %s the next value is not found", text)
		}
	}
}

func TestFields(t *testing.T) {
	w := New([]byte(`{"a": {"x": 1}, "b\n": 2, "c": "3"}`))
	w.EnterNested()
	got := map[string]string{}
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		got[string(key)] = string(w.SkipValue())
	}
	want := map[string]string{"a": `{"x": 1}`, "b\n": "2", "c": `"3"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

func TestLargeNumber(t *testing.T) {
	w := New([]byte(`[1e999, 1]`))
	if w.ReadValue(); w.Err() == nil {
		t.Error("1e999 was taken for a number")
	}
}

func TestCheck(t *testing.T) {
	for _, text := range texts {
		if err := CheckJSON([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{``, ` `, `{`, `{"a"}`, `{"a":1,}`, `[1 2]`, `01`, `nul`, `"a`, "\"\n\"", `{} {}`, `'a'`} {
		if err := CheckJSON([]byte(text)); err == nil {
			t.Errorf("%q was taken for valid", text)
		}
	}
}

// TestDecoder: values of a stream come one by one, however they are set apart.
func TestDecoder(t *testing.T) {
	d := NewDecoder(strings.NewReader("{\"a\":1}\n{\"a\":1,\"a\":2}[]  \"x\" {"))
	var got []string
	for {
		value, err := d.ReadValue()
		if err != nil {
			if err == io.EOF {
				t.Error("a value that is cut off is no error")
			}
			break
		}
		got = append(got, string(value))
	}
	if diff := cmp.Diff([]string{`{"a":1}`, `{"a":1,"a":2}`, `[]`, `"x"`}, got); diff != "" {
		t.Errorf("values (-want +got):\n%s", diff)
	}
}

// FuzzValue: whatever is valid for both, both make the same of it; what was skipped is valid.
func FuzzValue(f *testing.F) {
	for _, text := range texts {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if CheckJSON(data) != nil {
			return
		}
		before := bytes.Clone(data)
		if !json.Valid(data) {
			t.Fatalf("%q is valid here only", data)
		}
		if got := New(data).SkipValue(); !json.Valid(got) || len(bytes.TrimSpace(data)) != len(got) {
			t.Fatalf("of %q was skipped %q", data, got)
		}
		var want any
		wrong := utiljson.Unmarshal(data, &want)
		w := New(data)
		got := w.ReadValue()
		if !bytes.Equal(before, data) {
			t.Fatalf("%q has become %q", before, data)
		}
		if (wrong == nil) != (w.Err() == nil) {
			t.Fatalf("%q: error %v, Kubernetes' clients say %v", data, w.Err(), wrong)
		}
		if wrong == nil && !reflect.DeepEqual(want, got) {
			t.Errorf("of %q came %#v, want %#v", data, got, want)
		}
	})
}
