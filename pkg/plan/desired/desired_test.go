package desired

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestDropReserved: what Ambit takes for its own sign is taken out, and told.
func TestDropReserved(t *testing.T) {
	meta := func() map[string]any {
		return map[string]any{
			"labels":          map[string]any{"ambit.dev/policy": "x", "app": "web", "app.kubernetes.io/managed-by": "me"},
			"annotations":     map[string]any{"ambit.dev/claim": "x"},
			"finalizers":      []any{"ambit.dev/cleanup", "mine"},
			"ownerReferences": []any{},
		}
	}
	for name, tc := range map[string]struct {
		reason string
		merged bool
		want   []string
		labels map[string]any
	}{
		"Made":   {reason: "the label managed-by is set anyway", want: []string{"annotation ambit.dev/claim", "finalizer ambit.dev/cleanup", "label ambit.dev/policy", "ownerReferences"}, labels: map[string]any{"app": "web", "app.kubernetes.io/managed-by": "me"}},
		"Merged": {reason: "an object of somebody else is not managed by Ambit", merged: true, want: []string{"annotation ambit.dev/claim", "finalizer ambit.dev/cleanup", "label ambit.dev/policy", "label app.kubernetes.io/managed-by", "ownerReferences"}, labels: map[string]any{"app": "web"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := meta()
			if diff := cmp.Diff(tc.want, DropReserved(m, tc.merged)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(map[string]any{"labels": tc.labels, "finalizers": []any{"mine"}}, m); diff != "" {
				t.Errorf("%s: what stays: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestEncodeStringData: a Secret has its data as the API server would have it.
func TestEncodeStringData(t *testing.T) {
	secret := map[string]any{"data": map[string]any{"a": "eA==", "b": "eQ=="}, "stringData": map[string]any{"b": "z"}}
	if key, ok := EncodeStringData(secret); !ok {
		t.Errorf("%q is refused", key)
	}
	if diff := cmp.Diff(map[string]any{"data": map[string]any{"a": "eA==", "b": "eg=="}}, secret); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if key, ok := EncodeStringData(map[string]any{"stringData": map[string]any{"a": "x", "n": int64(1)}}); ok || key != "n" {
		t.Errorf("a number is taken: %q, %t", key, ok)
	}
}

// TestDropNulls: null is absent to the API server, at any depth.
func TestDropNulls(t *testing.T) {
	object := map[string]any{"a": nil, "b": map[string]any{"c": nil, "d": []any{map[string]any{"e": nil}}}}
	DropNulls(object)
	if diff := cmp.Diff(map[string]any{"b": map[string]any{"d": []any{map[string]any{}}}}, object); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestSizeOf: the size grows with what is there, and the depth with what stands in what.
func TestSizeOf(t *testing.T) {
	for name, tc := range map[string]struct {
		value        any
		bytes, depth int
	}{
		"Text":  {"abc", 5, 0},
		"Bool":  {true, 4, 0},
		"List":  {[]any{"a", int64(1)}, 2 + 4 + 9, 1},
		"Depth": {map[string]any{"a": []any{map[string]any{}}}, 2 + 5 + 2 + 1 + 2, 3},
	} {
		if bytes, depth := SizeOf(tc.value); bytes != tc.bytes || depth != tc.depth {
			t.Errorf("%s: got %d bytes, depth %d", name, bytes, depth)
		}
	}
}
