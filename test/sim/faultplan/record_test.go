package faultplan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/test/sim"
)

// What a review of the record of children has found: each kept an owner from ever being ready, or
// from going.

// partTarget is the template of the copies policy's parts.
const partTarget = `name: "${owner.metadata.namespace}-${owner.metadata.name}-${part}", namespace: library}
        data: {title: "${owner.spec.title}"}
`

// copiesWith is the copies scenario with other versions of its policy: each is what the parts have
// beside their template.
func copiesWith(t *testing.T, versions ...func(policy string) string) *Scenario {
	t.Helper()
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	s.Versions = nil
	for _, edit := range versions {
		text := edit(copiesPolicy)
		program, err := compileText(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Versions = append(s.Versions, program)
	}
	return s
}

// partsAre is an edit by which parts have a field more.
func partsAre(fields string) func(string) string {
	return func(policy string) string { return strings.Replace(policy, partTarget, partTarget+fields, 1) }
}

// TestLeftBehindForGood: parts that were left behind by what the policy said when they were made are not
// wanted any more, and by now the policy says that parts are deleted. They stay, and hold up nothing:
// neither what is made by other names, nor the end of the owner.
func TestLeftBehindForGood(t *testing.T) {
	cases := map[string]struct {
		before, after func(string) string
		variant       int // of the owner, after the edit
		made          string
	}{
		"Renamed": {before: partsAre("      onDelete: Orphan\n"), variant: 1, made: "one-a-p-new",
			after: func(policy string) string {
				return strings.Replace(policy, `-${part}", namespace`, `-${part}-new", namespace`, 1)
			}},
		"Unwanted": {before: partsAre("      onDelete: Orphan\n      apply: Create\n"), after: partsAre("      apply: Create\n"), variant: 2, made: "one-a-q"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			s := copiesWith(t, c.before, c.after)
			found := Run(t, &Plan{Seed: 1, Scenario: s, Cleanup: true, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 1)) }}},
				{Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
				{Time: 20 * time.Second, Action: Action{Do: func(w *World) { w.editOwner("one", "a", c.variant) }}},
				{Time: 10 * time.Second, Action: Action{Do: func(w *World) {
					if w.read(configMaps, library, c.made) == nil {
						t.Errorf("%s is not made", c.made)
					}
				}}},
			}})
			// What is left behind is what the reference does not have.
			isLeft := func(v Violation) bool { return strings.Contains(v.Text, "ConfigMap library/one-a-") }
			for _, v := range slices.DeleteFunc(found, isLeft) {
				t.Error(v)
			}
		})
	}
}

// TestMergedInstead: an object of somebody else has the name of a part, or gets it after the part was
// made; and the policy is edited to merge into it.
func TestMergedInstead(t *testing.T) {
	foreign := func(w *World) {
		w.create(configMaps, object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: one-a-p, namespace: library}, data: {x: "1"}}`))
	}
	for name, isFirst := range map[string]bool{"Before": true, "After": false} {
		t.Run(name, func(t *testing.T) {
			s := copiesWith(t, partsAre(""), partsAre("      existing: Merge\n"))
			steps := []Step{{Time: time.Second, Action: Action{Do: func(w *World) {
				if isFirst {
					foreign(w)
				}
				w.create(s.Owners, s.Owner("one", "a", 0))
			}}}, {Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.setPolicy(1) }}}}
			if !isFirst {
				steps = append(steps,
					Step{Time: 20 * time.Second, Action: Action{Do: func(w *World) { w.delete(configMaps, library, "one-a-p") }}},
					Step{Time: 20 * time.Second, Action: Action{Do: foreign}})
			}
			steps = append(steps, Step{Time: 2 * time.Minute, Action: Action{Do: func(w *World) {
				if title, _, _ := unstructured.NestedString(w.read(configMaps, library, "one-a-p").Object, "data", "title"); title == "" {
					t.Error("nothing is merged")
				}
			}}})
			holds(t, &Plan{Seed: 1, Scenario: s, Cleanup: true, Steps: steps})
		})
	}
}

// TestOtherScope: the record names an object of a kind that has its objects elsewhere, as when a
// definition was made again with another scope.
func TestOtherScope(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 1, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 0)) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) {
			w.editRecord("one", "a", func(r *inventory.Inventory) {
				r.Entries = append(r.Entries, inventory.Entry{Child: "old", GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}, Name: "bar", UID: "x"})
			})
		}}},
		{Time: 3 * time.Minute, Action: Action{Do: func(w *World) { w.editOwner("one", "a", 1) }}},
	}})
}

// TestUnreadHoldsUpNothing: nobody may read single objects, so that a part that went is not known to be
// gone. What else is wanted is made all the same, and the owner says which right is missing. With the
// right it can go.
func TestUnreadHoldsUpNothing(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	finalizers := func(w *World, list string) {
		w.patch(configMaps, library, "one-a-p", `{"metadata":{"finalizers":`+list+`}}`)
	}
	withoutGet := slices.Clone(s.Here)
	withoutGet[0].Verbs = []string{"list", "watch", "create", "patch", "delete"}
	s.Here = withoutGet
	holds(t, &Plan{Seed: 1, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 1)) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) { finalizers(w, `["example.com/x"]`) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.editOwner("one", "a", 3) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) { finalizers(w, `null`) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.editOwner("one", "a", 2) }}},
		{Time: time.Minute, Action: Action{Do: func(w *World) {
			for _, name := range []string{"one-a-q", "one-a-r"} {
				if w.read(configMaps, library, name) == nil {
					t.Errorf("%s is not made", name)
				}
			}
		}}},
	}})
}

// TestFoundLostCreate (seeds 261129027596 and 16333 of all scenarios): objects are made in places that
// only the record leads to, the answers are lost, and the owner is edited before a stream shows them, so
// that they are not wanted. Their places left the record, nobody looked there any more, and they stayed.
func TestFoundLostCreate(t *testing.T) {
	s, err := capsuleTenant()
	if err != nil {
		t.Fatal(err)
	}
	every := func(sim.Request) bool { return true }
	for _, long := range []time.Duration{0, time.Second, time.Minute} { // for which nothing can be read
		for requests := 8; requests <= 14; requests++ {
			t.Run(fmt.Sprintf("%s/%d", long, requests), func(t *testing.T) {
				holds(t, &Plan{Seed: 16333, Scenario: s, Cleanup: true, Steps: []Step{
					{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "a", 2)) }}},
					{Requests: requests, Action: Action{Do: func(w *World) {
						w.loseCreates(5, long, every)
						w.editOwner("", "a", 1)
						w.later(long, func(*World) {})
					}}},
				}})
			})
		}
	}
}

var limitRanges = schema.GroupVersionResource{Version: "v1", Resource: "limitranges"}

// createsOfLimits are creates of LimitRanges, two of which are answered in another way.
func createsOfLimits(a answer) answer {
	a.times = 2
	a.matches = func(r sim.Request) bool {
		return r.Verb == "create" && isWrite(r) && r.Resource.Resource == limitRanges.Resource
	}
	return a
}

// TestLostCreateIsFound: the answers of creates are lost, and streams are behind. Before they show the
// objects, these are met by another attempt, and not wanted any more.
func TestLostCreateIsFound(t *testing.T) {
	s, err := capsuleTenant()
	if err != nil {
		t.Fatal(err)
	}
	for name, after := range map[string]time.Duration{"AtOnce": 150 * time.Millisecond, "Met": time.Second, "MetTwice": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			lost := 0
			holds(t, &Plan{Seed: 1, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) {
					w.arm(createsOfLimits(answer{before: func(sim.Request) error { // the streams have their first lists
						w.disturb(limitRanges.Resource, disturbance{lag: 10 * time.Second, until: time.Now().Add(10 * time.Second)})
						return nil
					}}))
					w.arm(createsOfLimits(answer{after: func(sim.Request) error { lost++; return context.DeadlineExceeded }}))
					w.create(s.Owners, s.Owner("", "a", 2))
				}}},
				{Time: after, Action: Action{Do: func(w *World) { w.editOwner("", "a", 1) }}},
				{Time: 30 * time.Second, Action: Action{Do: func(*World) {}}},
			}})
			if lost != 2 {
				t.Errorf("%d answers were lost", lost)
			}
		})
	}
}

// TestLostCreateOfAnother: a create fails, and somebody else makes an object of that name for the same
// owner. It is not taken for what the create has made.
func TestLostCreateOfAnother(t *testing.T) {
	s, err := capsuleTenant()
	if err != nil {
		t.Fatal(err)
	}
	for name, wait := range map[string]time.Duration{"AtOnce": 150 * time.Millisecond, "Met": time.Minute} {
		t.Run(name, func(t *testing.T) {
			Run(t, &Plan{Seed: 1, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) {
					w.arm(createsOfLimits(answer{before: func(sim.Request) error { return apierrors.NewInternalError(errors.New("etcdserver: no leader")) }}))
					w.create(s.Owners, s.Owner("", "a", 2))
				}}},
				{Time: 100 * time.Millisecond, Action: Action{Do: func(w *World) {
					w.create(limitRanges, object(`{apiVersion: v1, kind: LimitRange, metadata: {name: tenant, namespace: one, ownerReferences: [
  {apiVersion: tenancy.example.com/v1alpha1, kind: Tenant, name: a, uid: "%s", controller: true}]}, spec: {limits: [{type: Container}]}}`, w.read(s.Owners, "", "a").GetUID()))
				}}},
				{Time: wait, Action: Action{Do: func(w *World) { w.editOwner("", "a", 1) }}},
				{Time: 30 * time.Second, Action: Action{Do: func(w *World) {
					if w.read(limitRanges, "one", "tenant") == nil {
						t.Error("the object of somebody else is deleted")
					}
				}}},
			}})
		})
	}
}
