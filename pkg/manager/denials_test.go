package manager

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
)

// TestDenials: each access is one metric, without the names of objects, and the
// number of metrics is bounded.
func TestDenials(t *testing.T) {
	of := func(policy, namespace, name string) controller.Denial {
		return controller.Denial{Policy: policy, DeniedAccess: v1alpha1.DeniedAccess{
			Verb: "patch", Group: "apps", Resource: "deployments", Namespace: namespace, Name: name,
		}}
	}
	few := countDenials([]controller.Denial{of("p", "a", "x"), of("p", "a", "y"), of("q", "", "")})
	want := map[denial]int{
		{"p", "patch", "deployments.apps", "a"}: 1,
		{"q", "patch", "deployments.apps", ""}:  1,
	}
	if diff := cmp.Diff(want, few, cmp.AllowUnexported(denial{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	var many []controller.Denial
	for i := range deniedNamespaces + 7 {
		many = append(many, of("p", fmt.Sprintf("ns-%d", i), ""))
	}
	counts := countDenials(append(many, of("q", "a", "")))
	if len(counts) != deniedNamespaces+2 || counts[denial{"p", "patch", "deployments.apps", moreNamespaces}] != 7 {
		t.Errorf("%d metrics, %d of them together, want %d and 7", len(counts), counts[denial{"p", "patch", "deployments.apps", moreNamespaces}], deniedNamespaces+2)
	}
}
