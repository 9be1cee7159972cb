package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
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

func TestRead(t *testing.T) {
	program := &policy.Program{Name: "web", Label: "web", Children: []*policy.Child{{ID: "web", GVK: schema.GroupVersionKind{Group: "apps", Version: "v1", Kind: "Deployment"}}}}
	text := func(groups string) string {
		return `{"policy":"web","claim":"0123456789abcdef","groups":[` + groups + `]}`
	}
	invented := make([]string, maxOtherKinds+1)
	for i := range invented {
		invented[i] = fmt.Sprintf(`{"child":"x","apiVersion":"v1","kind":"K%d","objects":["a/b/c"]}`, i)
	}
	for name, tc := range map[string]struct {
		reason, text string
		entries      []string
		err, other   string
	}{
		"None":     {reason: "An owner without the annotation has an empty inventory."},
		"Version":  {reason: "A kind of the program is observed in the program's version.", text: text(`{"child":"web","apiVersion":"apps/v1beta1","kind":"Deployment","objects":["a/b/c"]}`), entries: []string{"apps/v1, Kind=Deployment"}},
		"Versions": {reason: "Another kind has one version.", text: text(`{"child":"x","apiVersion":"v1","kind":"X","objects":["a/b/c"]},{"child":"x","apiVersion":"v2","kind":"X","objects":["a/c/c"]}`), entries: []string{"/v1, Kind=X", "/v1, Kind=X"}},
		"Most":     {reason: "An earlier revision had these kinds.", text: text(strings.Join(invented[:maxOtherKinds], ",")), entries: slices.Repeat([]string{""}, maxOtherKinds)},
		"TooMany":  {reason: "No revision had so many kinds.", text: text(strings.Join(invented, ",")), err: "65 kinds that this policy does not have"},
		"Garbage":  {reason: "What cannot be read is empty.", text: "{", err: "reading the record of children"},
		"Other":    {reason: "Of another policy's inventory only its name is known.", text: `{"policy":"other"}`, other: "other"},
	} {
		t.Run(name, func(t *testing.T) {
			owner := &unstructured.Unstructured{Object: map[string]any{"metadata": map[string]any{"uid": "owner-uid", "annotations": map[string]any{v1alpha1.AnnotationChildren: tc.text}}}}
			got := ReadStored(program, owner)
			if got.Owner != "owner-uid" || got.OtherPolicy != tc.other || len(got.Entries) != len(tc.entries) {
				t.Fatalf("%s got %+v", tc.reason, got)
			}
			if tc.err == "" && got.Err != nil || tc.err != "" && (got.Err == nil || !strings.Contains(got.Err.Error(), tc.err)) {
				t.Errorf("%s error %v, want %q", tc.reason, got.Err, tc.err)
			}
			for i, want := range tc.entries {
				if kind := got.Entries[i].GVK.String(); want != "" && kind != want {
					t.Errorf("%s entry %d is of %s, want %s", tc.reason, i, kind, want)
				}
			}
		})
	}
}
