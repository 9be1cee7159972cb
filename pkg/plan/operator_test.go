package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// operator is a small model of the engine: it observes the world, plans, and
// carries plans out.
type operator struct {
	world   *world
	program *policy.Program
	owner   *unstructured.Unstructured
	// problems and blocked are put into each snapshot; blocked by child or watch id.
	problems map[string]Problem
	blocked  map[string]Problem
	settled  map[types.UID]string
	// writes is how many writes may still be made before a crash; negative: any number.
	writes int
}

func compile(t testing.TB, spec string) *policy.Program {
	t.Helper()
	text := "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: test, namespace: ambit-system}\nspec:\n  owner: {apiVersion: example.com/v1, kind: Cache}\n"
	for line := range strings.Lines(spec) {
		text += "  " + line
	}
	documents, err := policy.Parse("test.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("parsing a policy: %v\n%s", err, text)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatalf("compiling a policy: %v\n%s", err, text)
	}
	return program
}

// snapshot shows what package watch would: projected objects with our entries of
// managedFields only.
func (o *operator) snapshot() Snapshot {
	s := Snapshot{Owner: o.owner, Children: map[string]Input{}, Watches: map[string]Input{}, Problems: o.problems, Settled: o.settled}
	manager := v1alpha1.FieldManager(o.program.Name)
	for _, c := range o.program.Children {
		var in Input
		kept := Fields(c)
		for _, obj := range o.world.objects {
			if obj.GroupVersionKind() == c.GVK {
				in.Objects = append(in.Objects, &unstructured.Unstructured{Object: withEntries(kept.Project(obj.Object), obj, manager)})
			}
		}
		s.Children[c.ID] = o.input(c.ID, in)
	}
	for _, w := range o.program.Watches {
		var in Input
		for _, obj := range o.world.objects {
			if obj.GroupVersionKind() == w.GVK {
				in.Objects = append(in.Objects, &unstructured.Unstructured{Object: w.Fields.Project(obj.Object)})
			}
		}
		s.Watches[w.ID] = o.input(w.ID, in)
	}
	return s
}

func (o *operator) input(id string, in Input) Input {
	if problem, ok := o.blocked[id]; ok {
		return Input{Blocked: &problem}
	}
	return in
}

func withEntries(projected map[string]any, full *unstructured.Unstructured, manager string) map[string]any {
	list, ok := field(full.Object, "metadata", "managedFields").([]any)
	if !ok {
		return projected
	}
	ours := slices.DeleteFunc(slices.Clone(list), func(e any) bool { return e.(map[string]any)["manager"] != manager })
	if ours == nil {
		ours = []any{}
	}
	submap(projected, "metadata")["managedFields"] = ours
	return projected
}

func (o *operator) plan(t testing.TB) *Plan {
	t.Helper()
	return Make(t.Context(), o.program, o.snapshot())
}

// converge plans and applies until nothing is left to do; it returns false if it
// crashed before.
func (o *operator) converge(t testing.TB) bool {
	t.Helper()
	for range 10 {
		p := o.plan(t)
		if len(p.Actions) == 0 {
			return true
		}
		for _, a := range p.Actions {
			if !o.do(a) {
				return false
			}
		}
	}
	t.Fatalf("still not done:\n%s\nworld:\n%s", o.plan(t), o.world)
	return false
}

// do carries out one action as package apply would. It returns false on a crash.
func (o *operator) do(a Action) bool {
	manager := v1alpha1.FieldManager(o.program.Name)
	if a.Verb == Create {
		if !o.write() {
			return false
		}
		if !o.world.create(a.Object, manager) {
			o.world.crimes = append(o.world.crimes, "ambit creates what exists: "+a.title())
		}
		return true
	}
	live := o.world.find(a.GVK.Kind, a.Name)
	if live == nil || live.GetUID() != a.UID {
		o.world.crimes = append(o.world.crimes, "ambit acts on what it did not observe: "+a.title())
		return true
	}
	if a.Migrate {
		if !o.write() {
			return false
		}
		live = o.world.migrate(live, manager)
	}
	if !o.write() {
		return false
	}
	if a.Verb == Delete {
		o.world.remove(live)
		return true
	}
	o.world.apply(live, a.Object, manager)
	return true
}

func (o *operator) write() bool {
	if o.writes == 0 {
		return false
	}
	o.writes--
	return true
}

// String shows the world without what the API server alone sets.
func (w *world) String() string {
	var b strings.Builder
	for _, obj := range w.objects {
		obj := obj.DeepCopy()
		for _, key := range []string{"managedFields", "resourceVersion", "uid", "generation"} {
			unstructured.RemoveNestedField(obj.Object, "metadata", key)
		}
		fmt.Fprintln(&b, encode(obj.Object))
	}
	return b.String()
}
