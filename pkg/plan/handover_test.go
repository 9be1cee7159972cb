package plan

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestHandover: an owner goes from one policy to another. Whatever the order in which
// the two do their steps, and wherever these end, the second does nothing before the
// first has cleaned up, the first nothing to what the second has made, and in the end
// there is what the second makes alone.
func TestHandover(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		first, second := named("first", compile(t, drawLanguage(r, false))), named("second", compile(t, drawLanguage(r, false)))
		h := &operator{world: &world{}, program: first, labelled: true, writes: -1}
		h.setOwner(t, "metadata: {namespace: default}")
		h.respec(r)
		h.converge(t)
		from, to := *h, *h
		from.retire, to.program, to.wants = true, second, nil
		for range rapid.IntRange(0, 12).Draw(r, "steps") {
			if rapid.Bool().Draw(r, "who") {
				step(t, r, &to, &from)
			} else {
				step(t, r, &from, &to)
			}
		}
		h.end(t, r, &from, &to)
	})
}

// named is a program under another name.
func named(name string, program *policy.Program) *policy.Program {
	out := *program
	out.Name, out.Label = name, name
	return &out
}

// step lets one of two policies make a few writes; the other then sees the owner as
// it is.
func step(t *testing.T, r *rapid.T, one, other *operator) {
	foreign := !inventory.IsMarked(one.program.Label, one.owner) && inventory.IsMarked(other.program.Label, one.owner)
	before, owner := one.all(), encode(one.owner.Object)
	one.writes, one.problems = rapid.IntRange(1, 4).Draw(r, "writes"), nil
	one.converge(t)
	one.writes = -1
	if foreign && !one.retire && (before != one.all() || owner != encode(one.owner.Object)) {
		r.Fatalf("policy %s has changed something under the record of the other:\n%s\nbefore:\n%s", one.program.Name, one.all(), before)
	}
	other.owner = one.owner
}

// end takes both to their end, and compares with the second alone.
func (o *operator) end(t *testing.T, r *rapid.T, from, to *operator) {
	for range 3 {
		for _, one := range []*operator{from, to} {
			one.problems = nil
			one.converge(t)
			from.owner, to.owner = one.owner, one.owner
		}
	}
	if p := from.plan(t); !p.Done || len(p.Actions) > 0 || p.OwnerMetadata != nil {
		r.Fatalf("the first policy has still to do:\n%s", p)
	}
	if p := to.plan(t); p.Foreign != "" || len(p.Actions) > 0 || p.OwnerMetadata != nil {
		r.Fatalf("the second policy has still to do:\n%s", p)
	}
	if slices.Contains(to.owner.GetFinalizers(), "ambit.dev/cleanup") != inventory.IsMarked(to.program.Label, to.owner) && len(to.owner.GetFinalizers()) > 0 {
		r.Fatalf("whose finalizer is it: %s", encode(to.owner.Object))
	}
	if len(from.world.crimes) > 0 {
		r.Fatalf("crimes: %v", from.world.crimes)
	}
}
