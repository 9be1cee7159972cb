package plan

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	_ "github.com/ambit-dev/ambit/test/draws/fewer"
)

// subset draws some of the values, in their order.
func subset[T any](t *rapid.T, name string, values ...T) []T {
	var drawn []T
	for i, v := range values {
		if rapid.Bool().Draw(t, fmt.Sprintf("%s%d", name, i)) {
			drawn = append(drawn, v)
		}
	}
	return drawn
}

// drawTemplate draws a template out of few values, so that two templates differ
// by little.
func drawTemplate(t *rapid.T, kind, name string) map[string]any {
	meta := map[string]any{"name": name}
	for _, key := range subset(t, "label", "a", "b") {
		submap(meta, "labels")[key] = rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")
	}
	spec := map[string]any{"always": "here"}
	for _, key := range subset(t, "field", "replicas", "paused", "mode", "strategy", "selector", "tags", "containers", "empty") {
		spec[key] = drawField(t, key)
	}
	return map[string]any{"apiVersion": "example.com/v1", "kind": kind, "metadata": meta, "spec": spec}
}

func drawField(t *rapid.T, key string) any {
	some := func(values ...any) any { return rapid.SampledFrom(values).Draw(t, key) }
	switch key {
	case "replicas":
		return some("${owner.spec.size}", int64(7))
	case "paused":
		return some(true, false)
	case "mode":
		return some("standard", "special")
	case "strategy":
		return some(map[string]any{"type": "Rolling"}, map[string]any{"type": "Recreate"}, map[string]any{"surge": int64(1)})
	case "selector":
		return some(map[string]any{"app": "x"}, map[string]any{"app": "x", "tier": "y"})
	case "tags":
		return toList(subset[any](t, "tag", "p", "q", "r"))
	case "containers":
		containers := []any{}
		for _, name := range subset(t, "container", "main", "other") {
			containers = append(containers, drawContainer(t, name))
		}
		return containers
	}
	return some(map[string]any{}, []any{}, nil)
}

func toList(values []any) []any { return append([]any{}, values...) }

func drawContainer(t *rapid.T, name string) map[string]any {
	c := map[string]any{"name": name, "image": rapid.SampledFrom([]string{"x:1", "x:2"}).Draw(t, "image")}
	for _, key := range subset(t, "of", "args", "env", "ports", "limits", "pullPolicy") {
		switch key {
		case "args":
			c[key] = toList(subset[any](t, "arg", "-a", "-b"))
		case "env":
			env := []any{}
			for _, name := range subset(t, "env", "A", "B", "C") {
				env = append(env, map[string]any{"name": name, "value": rapid.SampledFrom([]string{"1", "2"}).Draw(t, "value")})
			}
			c[key] = env
		case "ports":
			c[key] = []any{map[string]any{"containerPort": int64(80), "name": rapid.SampledFrom([]string{"h", "i"}).Draw(t, "port")}}
		case "limits":
			c[key] = map[string]any{"cpu": rapid.SampledFrom([]string{"1000m", "2"}).Draw(t, "cpu")}
		case "pullPolicy":
			c[key] = "Always"
		}
	}
	return c
}

// drawPolicy draws one to three children of two kinds, and names that meet those
// of foreign objects and of other policies.
func drawPolicy(t *rapid.T) string {
	var b strings.Builder
	b.WriteString("children:\n")
	for i := range rapid.IntRange(1, 3).Draw(t, "children") {
		kind := rapid.SampledFrom([]string{"Widget", "Gadget"}).Draw(t, "kind")
		name := rapid.SampledFrom([]string{"${owner.metadata.name}", "a", "b"}).Draw(t, "name")
		fmt.Fprintf(&b, "- id: c%d\n  template: %s\n", i, encode(drawTemplate(t, kind, name)))
		if rapid.Bool().Draw(t, "when") {
			b.WriteString("  when: owner.spec.size > 2\n")
		}
		if i > 0 && rapid.Bool().Draw(t, "dependsOn") {
			b.WriteString("  dependsOn: [c0]\n")
		}
	}
	return b.String()
}

// drawEdit lets somebody else change an object.
func drawEdit(t *rapid.T, w *world) {
	if len(w.objects) == 0 {
		return
	}
	obj := w.objects[rapid.IntRange(0, len(w.objects)-1).Draw(t, "edited")]
	spec := map[string]any{}
	for _, key := range subset(t, "edit", "replicas", "paused", "foreign", "selector", "containers", "tags") {
		switch key {
		case "containers":
			list, _ := objectmeta.FieldAt(obj.Object, "spec", "containers").([]any)
			list = runtime.DeepCopyJSONValue(list).([]any)
			spec[key] = append(list, map[string]any{"name": "sidecar", "image": "proxy"})
			if indexOf(list, "k:", `{"name":"sidecar"}`) >= 0 {
				spec[key] = toList(list[:len(list)-1])
			}
		case "selector":
			spec[key] = map[string]any{"also": "this"}
		case "tags":
			spec[key] = []any{"foreign", "q"}
		default:
			spec[key] = rapid.SampledFrom([]any{int64(9), nil, int64(8)}).Draw(t, key)
		}
	}
	w.edit(obj, map[string]any{"metadata": map[string]any{"labels": map[string]any{"foreign": "x"}}, "spec": spec}, "somebody")
}

// drawWorld draws objects of others, some with our labels.
func drawWorld(t *rapid.T) *world {
	w := &world{}
	for _, name := range subset(t, "foreign", "a", "z") {
		obj := &unstructured.Unstructured{Object: drawTemplate(t, "Widget", name)}
		submap(obj.Object, "metadata")["namespace"] = "default"
		obj.SetLabels(map[string]string{"app.kubernetes.io/managed-by": "ambit", "ambit.dev/policy": "test", "ambit.dev/owner-uid": "owner-uid"})
		w.create(obj, "somebody")
	}
	return w
}

func drawOwner(t *rapid.T, o *operator) {
	size := rapid.IntRange(1, 4).Draw(t, "size")
	o.setOwner(&testing.T{}, fmt.Sprintf("spec: {size: %d}", size))
}

func (w *world) clone() *world {
	c := &world{next: w.next, owner: w.owner, made: maps.Clone(w.made)}
	for _, obj := range w.objects {
		c.objects = append(c.objects, obj.DeepCopy())
	}
	return c
}

// TestProperties draws a world, a policy and edits by others, then another policy
// or owner, and checks after each step what has to hold of every plan.
func TestProperties(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		o := &operator{world: drawWorld(r), writes: -1}
		foreign := o.world.String()
		for range rapid.IntRange(1, 3).Draw(r, "policies") {
			drawOwner(r, o)
			o.program = compile(t, drawPolicy(r))
			checkPlan(t, r, o)
			checkCrash(t, r, o)
			o.converge(t)
			checkConverged(t, r, o)
			if foreign != "" && !strings.HasPrefix(o.world.foreign(), foreign) {
				r.Fatalf("foreign objects were changed:\n%s\nto\n%s", foreign, o.world.foreign())
			}
			for range rapid.IntRange(0, 2).Draw(r, "edits") {
				drawEdit(r, o.world)
			}
			foreign = o.world.foreign()
		}
	})
}

// foreign shows the objects that are not the owner's.
func (w *world) foreign() string {
	c := w.clone()
	c.objects = slices.DeleteFunc(c.objects, func(obj *unstructured.Unstructured) bool { return claims.IsControlled(obj, w.owner) })
	return c.String()
}

// checkPlan: the same inputs give the same bytes, in any order.
func checkPlan(t *testing.T, r *rapid.T, o *operator) {
	s := o.snapshot()
	want := Make(t.Context(), o.program, s).String()
	random := rand.New(rand.NewPCG(1, 2))
	for range 2 {
		for _, in := range s.Children {
			random.Shuffle(len(in.Objects), func(i, j int) { in.Objects[i], in.Objects[j] = in.Objects[j], in.Objects[i] })
		}
		if got := Make(t.Context(), o.program, s).String(); got != want {
			r.Fatalf("another order of the inputs, another plan:\n%s\nbefore:\n%s", got, want)
		}
	}
}

// checkCrash: a crash after any one write, and another run, reach the same state.
// Not where two children want one object: that shows only once both names are
// known, and what was made until then stays.
func checkCrash(t *testing.T, r *rapid.T, o *operator) {
	straight := *o
	straight.world = o.world.clone()
	straight.converge(t)
	if strings.Contains(straight.plan(t).String(), "are both") {
		return
	}
	for writes := 0; ; writes++ {
		crashed := *o
		crashed.world, crashed.writes = o.world.clone(), writes
		done := crashed.converge(t)
		crashed.writes = -1
		crashed.converge(t)
		if got, want := crashed.world.String(), straight.world.String(); got != want {
			r.Fatalf("after a crash behind %d writes the world is\n%s\nwithout:\n%s", writes, got, want)
		}
		if done {
			return
		}
	}
}

// checkConverged: every child is as its template says, and has nothing else but
// what others own and what the API server sets by default.
func checkConverged(t *testing.T, r *rapid.T, o *operator) {
	if len(o.world.crimes) > 0 {
		r.Fatalf("crimes: %v", o.world.crimes)
	}
	p := newPlanner(t.Context(), o.program, o.snapshot())
	p.resolveChildren(t.Context())
	for _, c := range p.children {
		for _, it := range c.instances {
			if it.state.State == Ready {
				checkChild(r, o.world.find(c.GVK.Kind, it.state.Name), it.desired)
			}
		}
	}
	// What an undecided child may have depends on what others may have.
	holds := slices.ContainsFunc(p.children, func(c child) bool { return !c.hasKnownNames() && len(c.Children)+len(c.Asked) > 0 })
	for _, obj := range o.world.objects {
		if holds || !slices.ContainsFunc(p.children, func(c child) bool { return c.GVK.Kind == obj.GetKind() }) {
			continue // a plan sees only the kinds of its program
		}
		wanted := slices.ContainsFunc(p.children, func(c child) bool {
			return c.GVK.Kind == obj.GetKind() && (!c.hasKnownNames() || slices.ContainsFunc(c.instances, func(it instance) bool { return it.state.Name == obj.GetName() }))
		})
		if claims.IsControlled(obj, o.owner.GetUID()) && !wanted {
			r.Fatalf("nobody wants %s %s", obj.GetKind(), obj.GetName())
		}
	}
}

func checkChild(r *rapid.T, live, desired *unstructured.Unstructured) {
	wanted := fieldSet{}
	normal := desired.DeepCopy()
	setDefaults(normal.Object)
	for _, l := range managedLeaves(normal.Object) {
		wanted.add(l.path)
		if have, ok := get(live.Object, l.path); !l.item && !isEmpty(l.value) && (!ok || encode(have) != encode(l.value)) {
			// A default may be overridden by others; what the template says may not.
			if _, templated := get(desired.Object, l.path); templated {
				r.Fatalf("%v is %v, want %v", l.path, have, l.value)
			}
		}
	}
	for _, l := range managedLeaves(live.Object) {
		foreign := wanted.hasBelow(l.path) || isEmpty(l.value) || isDefault(l.path)
		for _, e := range entriesOf(live) {
			foreign = foreign || e.manager == "somebody" && e.fields.hasBelow(l.path)
		}
		if !foreign {
			r.Fatalf("%v is still there and nobody's:\n%s", l.path, encode(live.Object))
		}
	}
}

// isDefault says whether setDefaults sets the field.
func isDefault(path []string) bool {
	switch path[len(path)-1] {
	case "f:mode", "f:type", "f:pullPolicy", "f:protocol":
		return true
	}
	return false
}
