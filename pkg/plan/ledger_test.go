package plan

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func TestIsMarked(t *testing.T) {
	const ours, others = `{"policy":"web"}`, `{"policy":"other"}`
	for name, tc := range map[string]struct {
		reason    string
		record    string
		finalizer string
		want      bool
	}{
		"Bare":            {"There is nothing.", "", "", false},
		"Finalizer":       {"Of a finalizer without a record nobody knows whose it is.", "", v1alpha1.FinalizerCleanup, true},
		"OtherFinalizer":  {"Others have finalizers, too.", "", "example.com/guard", false},
		"Record":          {"The record alone is a mark.", ours, "", true},
		"Both":            {"As Ambit writes them.", ours, v1alpha1.FinalizerCleanup, true},
		"OthersRecord":    {"Another policy has still to clean up.", others, "", false},
		"OthersFinalizer": {"The finalizer is that of the policy on record.", others, v1alpha1.FinalizerCleanup, false},
		"Illegible":       {"Nobody knows whose this is.", "{", "", true},
		"Nobody":          {"A record has to name its policy.", "{}", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			owner := &unstructured.Unstructured{Object: map[string]any{}}
			if tc.record != "" {
				owner.SetAnnotations(map[string]string{v1alpha1.AnnotationChildren: tc.record})
			}
			if tc.finalizer != "" {
				owner.SetFinalizers([]string{tc.finalizer})
			}
			if got := IsMarked("web", owner); got != tc.want {
				t.Errorf("%s\ngot %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}
