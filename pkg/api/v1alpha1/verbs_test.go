package v1alpha1_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func TestCompareVerbs(t *testing.T) {
	verbs := []string{"watch", "update", "delete", "get", "impersonate", "create", "patch", "list"}
	slices.SortFunc(verbs, v1alpha1.CompareVerbs)
	want := []string{"get", "list", "watch", "create", "patch", "delete", "impersonate", "update"}
	if diff := cmp.Diff(want, verbs); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
