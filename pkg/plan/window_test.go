package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/test/raced"
)

const (
	// edited is a policy before a child was dropped from it; before that child comes one
	// that stays.
	edited = `children:
- id: home
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: home}}
- id: far
  forEach: {as: to, in: "owner.spec.to"}
  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: far, namespace: "${to}"}}
`
	// dropped is it afterwards. atHomeOnly still has the kind of the child, but nowhere else
	// than at home.
	dropped = `children:
- id: home
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: home}}
`
	atHomeOnly = `children:
- id: home
  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: home}}
`
)

// spread is an owner with objects in so many namespaces, of a policy that is edited then.
type spread struct {
	*attack
	to []string
}

func newSpread(t *testing.T, namespaces int, after string) *spread {
	s := &spread{attack: newAttack(t, edited)}
	for i := range namespaces {
		s.to = append(s.to, fmt.Sprintf("n%02d", i))
	}
	s.writeSpec("{to: [" + strings.Join(s.to, ",") + "]}")
	s.converge(t)
	if got := len(s.far()); got != namespaces {
		t.Fatalf("%d objects were made, want %d: the test is wrong", got, namespaces)
	}
	s.program = compile(t, after)
	return s
}

// far are the namespaces in which the dropped child still has objects.
func (s *spread) far() (namespaces []string) {
	for _, obj := range s.world.objects {
		if obj.GetKind() == "Widget" && obj.GetNamespace() != "default" {
			namespaces = append(namespaces, obj.GetNamespace())
		}
	}
	return namespaces
}

// end brings the owner to how it is to be: deleted, or not wanted any more.
func (s *spread) end(how string) {
	switch how {
	case "Deleted":
		s.deleteOwner()
	case "Retired":
		s.retire = true
	}
}

// rounds plans and applies until there is nothing left to do, and returns how often. In no
// round more places are wanted than that.
func (s *spread) rounds(places int) int {
	s.t.Helper()
	for n := range 100 {
		if s.gone {
			return n
		}
		p := s.plan(s.t)
		if len(p.Queries) > places {
			s.t.Fatalf("round %d: %d places are wanted, want at most %d", n, len(p.Queries), places)
		}
		if len(p.Actions) == 0 && p.OwnerMetadata == nil {
			return n
		}
		if p.OwnerMetadata != nil {
			s.mark(p.OwnerMetadata)
		}
		for _, a := range p.Actions {
			s.do(a)
		}
	}
	s.t.Fatalf("still not done:\n%s", s.plan(s.t))
	return 0
}

// isClean reports that nothing is left of the dropped child, on the owner neither.
func (s *spread) isClean() {
	s.t.Helper()
	if left := s.far(); len(left) > 0 {
		s.t.Errorf("objects are left in %v", left)
	}
	if mark := s.owner.GetAnnotations()[v1alpha1.AnnotationChildren]; mark != "" {
		s.t.Errorf("the record is %s", mark)
	}
	if slices.Contains(s.owner.GetFinalizers(), v1alpha1.FinalizerCleanup) {
		s.t.Error("the finalizer is still there")
	}
	if len(s.world.crimes) > 0 {
		s.t.Errorf("crimes: %v", s.world.crimes)
	}
}

// ends are how the story of an owner goes on.
var ends = []string{"Lives", "Deleted", "Retired"}

// TestManyPlaces: a policy was edited and has no child any more that had objects in many
// namespaces. They are all removed, a few places at a time: each window costs a round of
// deletions and one that takes the entries off the record.
func TestManyPlaces(t *testing.T) {
	raced.Skip(t)
	const namespaces, unmade = 60, 20
	cases := map[string]struct {
		reason  string
		after   string
		prepare func(s *spread)
		entries int
	}{
		"DroppedKind": {"the kind is none of the policy any more", dropped, func(*spread) {}, namespaces},
		"OtherPlaces": {"the kind is that of another child", atHomeOnly, func(*spread) {}, namespaces},
		"SomeGone":    {"some objects are gone already", dropped, func(s *spread) { s.vanishSome(3) }, namespaces},
		"AllGone":     {"all objects are gone already", dropped, func(s *spread) { s.vanishSome(1) }, namespaces},
		"NeverMade":   {"some objects were recorded and never made", dropped, func(s *spread) { s.recordMore(unmade) }, namespaces + unmade},
	}
	for name, tc := range cases {
		for _, end := range ends {
			t.Run(name+end, func(t *testing.T) {
				s := newSpread(t, namespaces, tc.after)
				tc.prepare(s)
				s.end(end)
				n := s.rounds(1 + inventory.MaxOtherSites)
				if windows := (tc.entries + inventory.MaxOtherSites - 1) / inventory.MaxOtherSites; n > 2*windows+2 {
					t.Errorf("%s: it took %d rounds, want at most %d: two for each of %d windows, and two", tc.reason, n, 2*windows+2, windows)
				}
				s.isClean()
			})
		}
	}
}

// vanishSome has somebody else delete each nth object.
func (s *spread) vanishSome(nth int) {
	for i, namespace := range s.to {
		if i%nth == 0 {
			s.world.vanish(s.world.findIn("Widget", namespace, "far"))
		}
	}
}

// recordMore records objects that were not made before Ambit stopped.
func (s *spread) recordMore(n int) {
	inv := s.record()
	for i := range n {
		inv.Entries = append(inv.Entries, entryOf("far", "example.com/v1", "Widget", fmt.Sprintf("m%02d/far/", i)))
	}
	s.writeRecord(inv)
}

// TestIdlePlaces: places that can only be waited for do not hold up the others, as long as
// they are no more than the window is large. No more than twice as many are looked at.
func TestIdlePlaces(t *testing.T) {
	raced.Skip(t)
	const namespaces = 60
	cases := map[string]struct {
		reason string
		idle   int // from the first namespace on
		// hold lets the first namespaces be idle, and let frees them.
		hold, let func(s *spread, idle int)
	}{
		"OneDenied":    {"one place may not be seen", 1, deny, permit},
		"ManyDenied":   {"as many as are looked at together may not be seen", inventory.MaxOtherSites, deny, permit},
		"MoreDenied":   {"more than that may not be seen", 2*inventory.MaxOtherSites - 1, deny, permit},
		"OneStuck":     {"one object has a finalizer of somebody else", 1, holdBack, free},
		"ManyStuck":    {"as many as are looked at together have one", inventory.MaxOtherSites, holdBack, free},
		"NearlyAll":    {"none of these can be removed, and nothing is done but to wait", namespaces, deny, permit},
		"MoreThanBoth": {"of more than both windows hold, the rest waits", 2*inventory.MaxOtherSites + 1, holdBack, free},
	}
	for name, tc := range cases {
		for _, end := range ends {
			t.Run(name+end, func(t *testing.T) {
				s := newSpread(t, namespaces, dropped)
				tc.hold(s, tc.idle)
				s.end(end)
				s.rounds(1 + 2*inventory.MaxOtherSites)
				left, want := s.far(), s.to[:tc.idle]
				if tc.idle >= 2*inventory.MaxOtherSites {
					want = s.to
				}
				if !slices.Equal(left, want) {
					t.Errorf("%s: objects are left in %v, want %v", tc.reason, left, want)
				}
				if got := len(s.record().Entries); got < len(left) || !slices.Contains(s.owner.GetFinalizers(), v1alpha1.FinalizerCleanup) {
					t.Errorf("%s: %d entries and finalizers %v are left, for %d objects", tc.reason, got, s.owner.GetFinalizers(), len(left))
				}
				tc.let(s, tc.idle)
				s.rounds(1 + 2*inventory.MaxOtherSites)
				s.isClean()
			})
		}
	}
}

func deny(s *spread, idle int) { s.denied = s.to[:idle] }

func permit(s *spread, _ int) { s.denied = nil }

func holdBack(s *spread, idle int) { s.finalizers(idle, "example.com/guard") }

// free lets the objects go that are being deleted, and as many more as there are.
func free(s *spread, _ int) { s.finalizers(len(s.to)) }

// finalizers puts finalizers on the first objects that there are. One without that is being
// deleted goes.
func (s *spread) finalizers(n int, names ...string) {
	for _, namespace := range s.to[:n] {
		obj := s.world.findIn("Widget", namespace, "far")
		if obj == nil {
			continue
		}
		obj.SetFinalizers(names)
		if len(names) == 0 && objectmeta.IsDeleting(obj) {
			s.world.objects = slices.DeleteFunc(s.world.objects, func(o *unstructured.Unstructured) bool { return o.GetUID() == obj.GetUID() })
		}
	}
}
