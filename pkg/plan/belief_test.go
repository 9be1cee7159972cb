package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

const (
	atHome = `children:
- id: web
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web}}
`
	anywhere = `children:
- id: web
  template: {apiVersion: v1, kind: ConfigMap, metadata: {name: web, namespace: "${owner.spec.to}"}}
`
)

// hostileRecord is a record of so many groups, each with so many objects.
func hostileRecord(groups, objects int, group func(i int) string, object func(k int) string) string {
	var b strings.Builder
	b.WriteString(`{"policy":"test","claim":"aaaaaaaaaaaaaaaa","groups":[`)
	for i := range groups {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString("{" + group(i) + `,"objects":[`)
		for k := range objects {
			if k > 0 {
				b.WriteString(",")
			}
			fmt.Fprintf(&b, "%q", object(k))
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

func configMaps(int) string { return `"child":"web","apiVersion":"v1","kind":"ConfigMap"` }

// TestHostileRecord counts what a record that an attacker has written makes a plan want:
// each place of it is a stream, a review and perhaps a lookup.
func TestHostileRecord(t *testing.T) {
	place := func(k int) string { return fmt.Sprintf("n%d/a/", k) }
	invented := func(i int) string { return fmt.Sprintf(`"child":"web","apiVersion":"g%d.x/v1","kind":"K%d"`, i, i) }
	cases := map[string]struct {
		reason string
		policy string
		record string
		// wants and kinds are the most that may be wanted; why is what is said of a record
		// that is not believed, empty if it is.
		wants, kinds int
		why          string
	}{
		"ManyPlaces": {"20,000 places of a policy without a child elsewhere", atHome, hostileRecord(1, 20000, configMaps, place), 1, 1,
			"229010 bytes; Ambit writes at most 196608"},
		"SmallPlaces": {"as many as fit", anywhere, hostileRecord(1, 12000, configMaps, func(k int) string { return fmt.Sprintf("n%d//", k) }), 1, 1,
			"12000 entries; Ambit writes at most 4000"},
		"SomePlaces": {"few enough to be those of an earlier revision are looked at in turns", atHome,
			hostileRecord(1, 2000, configMaps, place), 1 + inventory.MaxOtherSites, 1, ""},
		"OutOfScope": {"a namespace that the scope leaves out is none of this revision", "scope: {exclude: [n1, n2], namespaces: [n3]}\n" + anywhere,
			hostileRecord(1, 40, configMaps, place), 2 + inventory.MaxOtherSites, 1, ""},
		"ManyKinds": {"3,000 invented kinds", atHome, hostileRecord(3000, 1, invented, func(int) string { return "a/b/" }), 1, 1, "bytes; Ambit writes at most"},
		"SomeKinds": {"more than one revision can have", atHome, hostileRecord(65, 1, invented, func(int) string { return "a/b/" }), 1, 1,
			"65 kinds that this policy does not have"},
		"FewKinds": {"perhaps of an earlier revision", atHome, hostileRecord(64, 1, invented, func(int) string { return "a/b/" }), 1 + inventory.MaxOtherSites, 1 + inventory.MaxOtherSites, ""},
		"Versions": {"one kind in many versions is one kind", atHome, hostileRecord(60, 1, func(i int) string {
			return fmt.Sprintf(`"child":"c%d","apiVersion":"v%d","kind":"ConfigMap"`, i, i+1)
		}, func(int) string { return "default/a/" }), 2, 1, "is there twice"},
		"Merged": {"by name in many places, though nothing is merged", atHome, hostileRecord(1, 1000, func(int) string {
			return `"child":"web","apiVersion":"v1","kind":"ConfigMap","merged":true`
		}, func(k int) string { return fmt.Sprintf("n%d/a/u", k) }), 1 + inventory.MaxOtherSites, 1, ""},
	}
	for name, tc := range cases {
		for _, end := range []string{"", "Deleted", "Retired"} {
			t.Run(name+end, func(t *testing.T) {
				a := newAttack(t, tc.policy)
				a.writeSpec("{to: there}")
				a.owner.SetAnnotations(map[string]string{v1alpha1.AnnotationChildren: tc.record})
				a.owner.SetFinalizers([]string{v1alpha1.FinalizerCleanup})
				switch end {
				case "Deleted":
					a.deleteOwner()
				case "Retired":
					a.retire = true
				}
				p := a.plan(t)
				kinds := map[schema.GroupVersionKind]bool{}
				for _, w := range p.Queries {
					kinds[w.GVK] = true
				}
				if len(p.Queries) > tc.wants || len(kinds) > tc.kinds {
					t.Errorf("%s: %d places of %d kinds are wanted, want at most %d of %d", tc.reason, len(p.Queries), len(kinds), tc.wants, tc.kinds)
				}
				said := slices.ContainsFunc(p.Blockers, func(b Problem) bool {
					return b.Terminal && b.Reason == v1alpha1.ReasonInvalid && strings.Contains(b.Message, tc.why) && strings.Contains(b.Message, v1alpha1.AnnotationChildren)
				})
				if said != (tc.why != "") {
					t.Errorf("%s: blockers are %v, want one that says %q", tc.reason, p.Blockers, tc.why)
				}
				if tc.why != "" && (p.OwnerMetadata != nil || p.Done || slices.ContainsFunc(p.Actions, func(a Action) bool { return a.Verb == Delete })) {
					t.Errorf("%s: it is not believed, and yet:\n%s", tc.reason, p)
				}
			})
		}
	}
}
