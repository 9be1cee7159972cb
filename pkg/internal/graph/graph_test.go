package graph

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

func TestOrder(t *testing.T) {
	cases := map[string]struct {
		reason string
		ids    []string
		deps   map[string][]string
		want   []string
		cycle  []string
	}{
		"Nothing":        {reason: "no ids, no order"},
		"Independent":    {reason: "ties keep the order given", ids: []string{"b", "a", "c"}, want: []string{"b", "a", "c"}},
		"Chain":          {reason: "each after what it depends on", ids: []string{"c", "b", "a"}, deps: map[string][]string{"c": {"b"}, "b": {"a"}}, want: []string{"a", "b", "c"}},
		"Diamond":        {reason: "both sides before the end", ids: []string{"d", "c", "b", "a"}, deps: map[string][]string{"d": {"b", "c"}, "b": {"a"}, "c": {"a"}}, want: []string{"a", "c", "b", "d"}},
		"SoonAsPossible": {reason: "an id comes as soon as it can", ids: []string{"x", "a", "b"}, deps: map[string][]string{"x": {"a"}}, want: []string{"a", "x", "b"}},
		"Stranger":       {reason: "what is not among the ids is ignored", ids: []string{"a"}, deps: map[string][]string{"a": {"z"}, "z": {"a"}}, want: []string{"a"}},
		"Repeated":       {reason: "a dependency may be named twice", ids: []string{"b", "a"}, deps: map[string][]string{"b": {"a", "a"}}, want: []string{"a", "b"}},
		"RepeatedID":     {reason: "an id comes once", ids: []string{"a", "b", "a"}, want: []string{"a", "b"}},
		"Self":           {reason: "an id that depends on itself", ids: []string{"a"}, deps: map[string][]string{"a": {"a"}}, cycle: []string{"a", "a"}},
		"Two":            {reason: "a circle of two", ids: []string{"a", "b"}, deps: map[string][]string{"a": {"b"}, "b": {"a"}}, cycle: []string{"a", "b", "a"}},
		"Smallest": {reason: "the smaller of two circles", ids: []string{"a", "b", "c", "d", "e"},
			deps: map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}}, cycle: []string{"d", "e", "d"}},
		"SmallestWithin": {reason: "a short cut in a circle", ids: []string{"a", "b", "c"},
			deps: map[string][]string{"a": {"b"}, "b": {"c"}, "c": {"a", "b"}}, cycle: []string{"b", "c", "b"}},
		"FirstOfEqual": {reason: "the earliest id decides between equals", ids: []string{"c", "d", "a", "b"},
			deps: map[string][]string{"a": {"b"}, "b": {"a"}, "c": {"d"}, "d": {"c"}}, cycle: []string{"c", "d", "c"}},
		"OnlyLeadsThere": {reason: "an id that waits for a circle is not in it", ids: []string{"x", "a", "b"},
			deps: map[string][]string{"x": {"a"}, "a": {"b"}, "b": {"a"}}, cycle: []string{"a", "b", "a"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := OrderByDependency(tc.ids, tc.deps)
			var cycle *CycleError
			if errors.As(err, &cycle) != (tc.cycle != nil) {
				t.Fatalf("%s: gives %v, %v", tc.reason, got, err)
			}
			if tc.cycle != nil {
				if diff := cmp.Diff(tc.cycle, cycle.Cycle); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
				return
			}
			if diff := cmp.Diff(append([]string{}, tc.want...), got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCycleError(t *testing.T) {
	err := &CycleError{Cycle: []string{"a", "b", "a"}}
	if got, want := err.Error(), "a cycle of dependencies: a -> b -> a"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestOrderProperties: an order has every id once, after its dependencies; a
// cycle is one, and there is an error only with one.
func TestOrderProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 6, rapid.ID[string]).Draw(t, "ids")
		deps := map[string][]string{}
		for _, id := range ids {
			deps[id] = rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(t, id)
		}
		ordered, err := OrderByDependency(ids, deps)
		var cycle *CycleError
		if errors.As(err, &cycle) {
			checkCycle(t, cycle.Cycle, deps)
			return
		}
		if len(ordered) != len(ids) {
			t.Fatalf("order %v of %v", ordered, ids)
		}
		for i, id := range ordered {
			for _, dep := range deps[id] {
				if !slices.Contains(ordered[:i], dep) {
					t.Fatalf("%s before its dependency %s in %v", id, dep, ordered)
				}
			}
		}
	})
}

func checkCycle(t *rapid.T, cycle []string, deps map[string][]string) {
	if len(cycle) < 2 || cycle[0] != cycle[len(cycle)-1] {
		t.Fatalf("%v is not a circle", cycle)
	}
	for i, id := range cycle[1:] {
		if !slices.Contains(deps[cycle[i]], id) {
			t.Fatalf("%s does not depend on %s, in %v", cycle[i], id, cycle)
		}
	}
}
