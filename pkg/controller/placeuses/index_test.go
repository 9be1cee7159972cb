package placeuses

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// TestUses: a place is asked about anew exactly when what is made use of there has
// changed, whoever does so.
func TestUses(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "x", Name: "a"}, types.NamespacedName{Namespace: "x", Name: "b"}
	web, pods := Use{Part: "web"}, Use{Part: "pods", Optional: true}
	u := New()
	steps := []struct {
		reason string
		owner  types.NamespacedName
		next   ByPlace
		want   []string
	}{
		{"the first use of two places", a, ByPlace{"n": {web}, "m": {pods, web}}, []string{"m", "n"}},
		{"the same again", a, ByPlace{"n": {web}, "m": {pods, web}}, nil},
		{"another owner with a use that is there, and one that is not", b, ByPlace{"n": {pods, web}}, []string{"n"}},
		{"the first leaves a place that the other still uses", a, ByPlace{"m": {web}}, []string{"m"}},
		{"the last leaves", b, nil, []string{"n"}},
		{"and the first", a, nil, []string{"m"}},
	}
	for _, step := range steps {
		if diff := cmp.Diff(step.want, u.SetOwner(step.owner, step.next)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", step.reason, diff)
		}
	}
	if len(u.owners)+len(u.places) != 0 {
		t.Errorf("%v and %v are left", u.owners, u.places)
	}
}
