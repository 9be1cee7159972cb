package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func TestLimits(t *testing.T) {
	names := func(n int) string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("n%d", i)
		}
		return "spec: {names: [" + strings.Join(list, ",") + "]}"
	}
	each := "children:\n"
	for _, id := range []string{"a", "b", "c"} {
		each += fmt.Sprintf("- id: %s\n  forEach: {as: s, in: owner.spec.names}\n  template: {apiVersion: v1, kind: Widget, metadata: {name: \"%s-${s}\"}}\n", id, id)
	}
	one := "children:\n- id: a\n  template: {apiVersion: v1, kind: Widget, metadata: {name: a}, spec: {text: \"${owner.spec.names}\"}}\n"
	cases := map[string]struct {
		reason, spec, owner string
		actions             int
		problem             string
	}{
		"Elements": {
			reason: "a list with too many elements gives nothing at all",
			spec:   each, owner: names(MaxElements + 1), problem: "child \"a\" has 1001 elements; the limit is 1000",
		},
		"Objects": {
			reason: "what is beyond the number of objects is not made",
			spec:   each, owner: names(MaxElements), actions: MaxObjects, problem: "the owner has too many children; the limit is 2000",
		},
		"Bytes": {
			reason: "one object must not be too large",
			spec:   one, owner: "spec: {names: [" + strings.Repeat("x", MaxObjectBytes) + "]}", problem: "the limit is 1048576",
		},
		"Depth": {
			reason: "what an owner nests too deep is not copied into an object",
			spec:   one, owner: "spec: {names: " + strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth) + "}", problem: `Widget "a" is nested 102 deep; the limit is 100`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			o := &operator{world: &world{}, program: compile(t, tc.spec), writes: -1}
			o.setOwner(t, tc.owner)
			p := o.plan(t)
			if len(p.Actions) != tc.actions {
				t.Errorf("%s: %d actions, want %d", tc.reason, len(p.Actions), tc.actions)
			}
			if len(p.Blockers) == 0 || p.Blockers[0].Reason != v1alpha1.ReasonLimitExceeded || !p.Blockers[0].Terminal || !strings.Contains(fmt.Sprint(p.Blockers), tc.problem) {
				t.Errorf("%s: got %.300v, want %q", tc.reason, p.Blockers, tc.problem)
			}
		})
	}
}

// TestSilent: of an owner whose status belongs to others nothing is said there, and
// what blocks is known all the same.
func TestSilent(t *testing.T) {
	program := *compile(t, "children:\n- id: a\n  template: {apiVersion: v1, kind: Widget, metadata: {name: a}}\n")
	program.Owner.SkipStatus = true
	o := &operator{world: &world{}, program: &program, writes: -1}
	o.setOwner(t, "{}")
	p := o.plan(t)
	if p.Conditions != nil || p.Status != nil || len(p.Blockers) != 1 || len(p.Actions) != 1 {
		t.Errorf("got\n%s", p)
	}
}

// TestRecordTooLarge: a record that would not fit into the annotations of the owner
// is not written, and nothing is made that it would have to hold.
func TestRecordTooLarge(t *testing.T) {
	o := &operator{world: &world{}, writes: -1}
	o.program = compile(t, "children:\n- id: a\n  forEach: {as: s, in: owner.spec.names}\n  template: {apiVersion: v1, kind: Widget, metadata: {namespace: other, name: \"${s}\"}}\n")
	names := make([]string, MaxElements)
	for i := range names {
		names[i] = fmt.Sprintf("n%d-%s", i, strings.Repeat("x", 240))
	}
	o.setOwner(t, "spec: {names: ["+strings.Join(names, ",")+"]}")
	if p := o.plan(t); p.OwnerMetadata != nil || len(p.Actions) > 0 || p.Blockers[0].Reason != v1alpha1.ReasonLimitExceeded {
		t.Errorf("mark %v, %d actions, %.200v", p.OwnerMetadata, len(p.Actions), p.Blockers)
	}
}
