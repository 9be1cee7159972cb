package v1alpha1

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
)

// TestPolicyLabel: it is the value of a label, tells policies apart, and is legible as long as it is short.
func TestPolicyLabel(t *testing.T) {
	long := strings.Repeat("n", 63)
	cases := map[string]struct{ namespace, name, want string }{
		"Both":        {"team-x", "cache", "team-x.cache"},
		"NoNamespace": {"", "cache", "cache"},
		"Dots":        {"team-x", "cache.example.com", "team-x.cache.example.com"},
		"Longest":     {"team-x", long[:56], "team-x." + long[:56]},
		"TooLong":     {"team-x", long[:57], "team-x." + long[:23] + "_8e30169234a12dfb5d51236036378fe3"},
		"CutBefore":   {long[:46], "cache-" + long[:20], long[:30] + "_d9f60d82e80642c7f8f8fd0d7f1304aa"},
	}
	seen := map[string]string{}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := PolicyLabel(tc.namespace, tc.name)
			if got != tc.want {
				t.Errorf("PolicyLabel(%q, %q) = %q, want %q", tc.namespace, tc.name, got, tc.want)
			}
			if problems := validation.IsValidLabelValue(got); problems != nil {
				t.Errorf("%q is not the value of a label: %v", got, problems)
			}
			if other := seen[got]; other != "" {
				t.Errorf("%s and %s have one label", name, other)
			}
			seen[got] = name
			if manager := MergeManager(got, types.UID(strings.Repeat("u", 36))); len(manager) > 128 {
				t.Errorf("the field manager has %d characters", len(manager))
			}
		})
	}
	if PolicyLabel("team-x", long) == PolicyLabel("team-x", long[:62]) {
		t.Error("two long names have one label")
	}
}

func TestCompareVerbs(t *testing.T) {
	verbs := []string{"watch", "update", "delete", "get", "impersonate", "create", "patch", "list"}
	slices.SortFunc(verbs, CompareVerbs)
	want := []string{"get", "list", "watch", "create", "patch", "delete", "impersonate", "update"}
	if diff := cmp.Diff(want, verbs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
