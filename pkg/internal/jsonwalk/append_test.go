package jsonwalk

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestAppend: what is appended means what json.Marshal writes.
func TestAppend(t *testing.T) {
	for name, value := range map[string]any{
		"Nested":  map[string]any{"a": []any{int64(1), 1.5, true, nil, "x"}, "b": map[string]any{}, "c": []any{}, "": false},
		"Escaped": map[string]any{"\"\\\n": "<&>\u2028\x00 é"},
		"NoText":  map[string]any{"a\xff": "b\xffc"},
		"Nils":    []any{map[string]any(nil), []any(nil)},
		"Numbers": []any{int64(math.MaxInt64), int64(math.MinInt64), 1e300, -0.1, int32(7), 7, json.Number("12.50")},
		"Typed":   map[string]string{"a": "b"},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got, err := AppendJSON([]byte("before "), value)
			if err != nil {
				t.Fatal(err)
			}
			if string(got[:7]) != "before " {
				t.Fatalf("what was there became %q", got)
			}
			if diff := cmp.Diff(parsed(t, want), parsed(t, got[7:])); diff != "" {
				t.Errorf("-json +got of %s:\n%s", got, diff)
			}
		})
	}
	if _, err := AppendJSON(nil, map[string]any{"a": []any{math.NaN()}}); err == nil {
		t.Error("what JSON cannot say gave no error")
	}
}

func parsed(t *testing.T, text []byte) (value any) {
	t.Helper()
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return value
}

// FuzzAppend: whatever was read, what is appended means what json.Marshal writes.
func FuzzAppend(f *testing.F) {
	for _, text := range []string{`{"a":[1,2.5,"x",null,true,{}]}`, `"\u00e9\ud800"`, `[[],[[]]]`, `-0`, `1.0`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if CheckJSON(data) != nil {
			t.Skip()
		}
		w := New(data)
		value := w.ReadValue()
		if w.Err() != nil {
			t.Skip()
		}
		want, err := json.Marshal(value)
		if err != nil {
			t.Skip() // it is nested too deep for json
		}
		got, err := AppendJSON(nil, value)
		if err != nil || CheckJSON(got) != nil {
			t.Fatalf("%q gave %q, %v", data, got, err)
		}
		if diff := cmp.Diff(parsed(t, want), parsed(t, got)); diff != "" {
			t.Errorf("%q, -json +got:\n%s", data, diff)
		}
	})
}
