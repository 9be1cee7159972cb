package status

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestPart(t *testing.T) {
	full := map[string]any{
		"size": int64(1), "theirs": "x", "state": map[string]any{"word": "w", "theirs": "y"}, "observedGeneration": int64(2),
		"conditions": []any{
			map[string]any{"type": "Theirs", "status": "True"},
			map[string]any{"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"},
			map[string]any{"type": "Mine", "status": "False"},
		},
	}
	want := map[string]any{
		"size": int64(1), "state": map[string]any{"word": "w"}, "observedGeneration": int64(2),
		"conditions": map[string]any{
			"Ready": map[string]any{"type": "Ready", "status": "True"},
			"Mine":  map[string]any{"type": "Mine", "status": "False"},
		},
	}
	before := runtime.DeepCopyJSON(full)
	if diff := cmp.Diff(want, ManagedPart(program(t), full)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, full); diff != "" {
		t.Errorf("the status was changed:\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"conditions": map[string]any{}}, ManagedPart(program(t), map[string]any{})); diff != "" {
		t.Errorf("of an empty one (-want +got):\n%s", diff)
	}
}
