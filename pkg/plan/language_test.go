package plan

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// drawLanguage draws a policy out of the whole language.
func drawLanguage(t *rapid.T, clusterScoped bool) string {
	var b strings.Builder
	if rapid.Bool().Draw(t, "ordered") {
		b.WriteString("deletion: Ordered\n")
	}
	b.WriteString("children:\n")
	for i := range rapid.IntRange(1, 4).Draw(t, "children") {
		b.WriteString(drawChild(t, i, clusterScoped))
	}
	return b.String()
}

func drawChild(t *rapid.T, i int, clusterScoped bool) string {
	var b strings.Builder
	some := func(name string, values ...string) string { return rapid.SampledFrom(values).Draw(t, name) }
	fmt.Fprintf(&b, "- id: c%d\n", i)
	kind := some("kind", "Widget", "Gadget", "Zone")
	name, namespace := some("name", fmt.Sprintf("c%d", i), "a", "z"), some("namespace", "", "other", "third")
	if clusterScoped && namespace == "" {
		namespace = "third"
	}
	if some("forEach", "no", "yes") == "yes" {
		b.WriteString("  forEach: {as: s, in: owner.spec.names}\n")
		name += some("element", "-${s}", "${s}")
		if some("spread", "no", "yes") == "yes" {
			namespace = "${s}"
		}
		fmt.Fprintf(&b, "  update: %s\n", some("update", "Parallel", "OneByOne"))
	}
	existing := some("existing", "Refuse", "Refuse", "Adopt", "Merge")
	fmt.Fprintf(&b, "  existing: %s\n", existing)
	if existing != "Merge" {
		fmt.Fprintf(&b, "  onDelete: %s\n  apply: %s\n", some("onDelete", "Delete", "Delete", "Orphan"), some("apply", "Apply", "Apply", "Create", "Recreate"))
	}
	if some("when", "no", "no", "yes") == "yes" {
		b.WriteString("  when: owner.spec.size > 2\n")
	}
	if i > 0 && some("dependsOn", "no", "yes") == "yes" {
		fmt.Fprintf(&b, "  dependsOn: [c%d]\n", rapid.IntRange(0, i-1).Draw(t, "on"))
	}
	meta := map[string]any{"name": name}
	if kind != "Zone" && namespace != "" {
		meta["namespace"] = namespace
	}
	spec := map[string]any{some("field", "replicas", "surge"): "${owner.spec.size}"}
	fmt.Fprintf(&b, "  template: %s\n", encode(map[string]any{"apiVersion": "example.com/v1", "kind": kind, "metadata": meta, "spec": spec}))
	return b.String()
}

// drawForeign draws objects of others in all namespaces, of which some say that they
// are ours.
func drawForeign(t *rapid.T) *world {
	w := &world{}
	for _, place := range subset(t, "foreign", "Widget default a", "Widget other z", "Gadget other a", "Zone  a", "Widget third c0", "Gadget default c1-n1") {
		parts := strings.Split(place, " ")
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": parts[0], "spec": map[string]any{"replicas": int64(1)}}}
		obj.SetName(parts[2])
		obj.SetNamespace(parts[1])
		switch rapid.IntRange(0, 3).Draw(t, "says") {
		case 0:
			obj.SetLabels(map[string]string{v1alpha1.LabelPolicy: "test", v1alpha1.LabelOwnerUID: "owner-uid"})
			obj.SetAnnotations(map[string]string{v1alpha1.AnnotationClaim: "0123456789abcdef0123456789abcdef"})
		case 1:
			unstructured.SetNestedSlice(obj.Object, []any{map[string]any{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "other", "controller": true}}, "metadata", "ownerReferences")
		}
		w.create(obj, "somebody")
	}
	return w
}

// respec changes the owner's spec.
func (o *operator) respec(t *rapid.T) {
	o.owner = o.owner.DeepCopy()
	o.owner.Object["spec"] = map[string]any{
		"size": int64(rapid.IntRange(1, 4).Draw(t, "size")), "names": toList(subset[any](t, "element", "n1", "other", "n2")),
	}
}

// language is one run of TestLanguage.
type language struct {
	*operator
	t       *testing.T
	r       *rapid.T
	orphans map[types.UID]bool
	// before is what others had at the beginning.
	before *world
}

// TestLanguage draws policies out of the whole language, one after the other for one
// owner, then deletes the owner or retires it, and checks what has to hold: the same
// inputs give the same plan; what was applied is not planned again; a crash after any
// one write, also on the owner, changes nothing in the end; nothing of others is
// touched but by Merge, which leaves nothing behind; nothing of ours stays.
func TestLanguage(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		l := &language{operator: &operator{world: drawForeign(r), writes: -1}, t: t, r: r, orphans: map[types.UID]bool{}}
		l.before = l.world.clone()
		clusterScoped := rapid.Bool().Draw(r, "clusterScoped")
		owner := "metadata: {namespace: default}"
		if clusterScoped {
			owner = "{kind: Tenant, metadata: {namespace: ''}}"
		}
		l.setOwner(t, owner)
		for range rapid.IntRange(1, 3).Draw(r, "policies") {
			l.respec(r)
			l.program = compile(t, drawLanguage(r, clusterScoped))
			l.round()
		}
		l.end()
	})
}

// round converges once, and compares with runs that crash.
func (l *language) round() {
	l.problems = nil
	l.checkOrder()
	l.checkCrashes(false)
	l.noteOrphans()
	l.converge(l.t)
	l.checkQuiet()
	l.noteOrphans()
}

// noteOrphans notes what may be left behind.
func (l *language) noteOrphans() {
	for _, e := range l.inventory().Entries {
		orphan := func(c *policy.Child) bool {
			return c.ID == e.Child && c.GVK == e.GVK && c.OnDelete == v1alpha1.DeleteOrphan
		}
		obj := l.world.findIn(e.GVK.Kind, e.Namespace, e.Name)
		if obj != nil && (e.Orphan || slices.ContainsFunc(l.program.Children, orphan)) {
			l.orphans[obj.GetUID()] = true
		}
	}
}

func (l *language) inventory() inventory.Inventory {
	inv, err := inventory.ParseInventory(l.owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	if err != nil {
		l.r.Fatalf("the record cannot be read: %v", err)
	}
	return inv
}

// end deletes the owner, or retires it, and looks at what is left.
func (l *language) end() {
	l.problems = nil
	switch rapid.IntRange(0, 2).Draw(l.r, "end") {
	case 0:
		l.deleteOwner()
	case 1:
		l.program = &policy.Program{Name: l.program.Name, Label: l.program.Label, Namespace: l.program.Namespace, Owner: l.program.Owner, CleanupOnly: errors.New("broken")}
		l.deleteOwner()
	case 2:
		l.retire = true
	}
	if !l.gone {
		l.checkCrashes(true)
		l.converge(l.t)
		l.checkQuiet()
	}
	if !l.gone && (!l.retire || !l.make(l.t).Done) {
		l.r.Fatalf("the owner is not done:\n%s\nowner: %s\n%s", l.plan(l.t), encode(l.owner.Object), l.world)
	}
	l.checkRest()
}

// checkRest: nothing of ours is left but what is to be, and everything of others is as
// it was.
func (l *language) checkRest() {
	for _, obj := range l.world.objects {
		if l.isUnseen(obj) || claims.IsControlled(obj, l.world.owner) && slices.ContainsFunc(l.program.Children, func(c *policy.Child) bool {
			return c.GVK == obj.GroupVersionKind() && c.OnDelete == v1alpha1.DeleteOrphan
		}) {
			continue // of an object that has an ownerReference it is a guess which child it was for
		}
		if l.world.made[obj.GetUID()] && !l.orphans[obj.GetUID()] {
			l.r.Fatalf("an orphan: %s", encode(obj.Object))
		}
	}
	theirs := func(w *world) string {
		c := w.clone()
		c.objects = slices.DeleteFunc(c.objects, func(obj *unstructured.Unstructured) bool { return l.world.made[obj.GetUID()] })
		return c.String()
	}
	if got, want := theirs(l.world), theirs(l.before); got != want {
		l.r.Fatalf("what others have is now\n%s\nand was\n%s", got, want)
	}
}

// isUnseen says whether an object has an ownerReference, and no plan sees it: the
// program has no such kind any more, or not there. It goes with the owner.
func (o *operator) isUnseen(obj *unstructured.Unstructured) bool {
	return claims.IsControlled(obj, o.world.owner) && !slices.ContainsFunc(o.program.Children, func(c *policy.Child) bool {
		return c.GVK == obj.GroupVersionKind() && c.Existing != v1alpha1.ExistingMerge && (!c.CrossNamespace || obj.GetNamespace() != o.owner.GetNamespace())
	})
}

func (l *language) checkQuiet() {
	if len(l.world.crimes) > 0 {
		l.r.Fatalf("crimes: %v", l.world.crimes)
	}
	if p := l.plan(l.t); !l.gone && (len(p.Actions) > 0 || p.OwnerMetadata != nil) {
		l.r.Fatalf("after all was done there is to do:\n%s", p)
	}
}

// checkOrder: the same inputs give the same bytes, in any order.
func (l *language) checkOrder() {
	l.plan(l.t)
	s := l.snapshot()
	want := Make(l.t.Context(), l.program, s)
	random := rand.New(rand.NewPCG(1, 2))
	for _, in := range s.Children {
		random.Shuffle(len(in.Objects), func(i, j int) { in.Objects[i], in.Objects[j] = in.Objects[j], in.Objects[i] })
	}
	if got := Make(l.t.Context(), l.program, s); got.String() != want.String() {
		l.r.Fatalf("another order of the inputs, another plan:\n%s\nbefore:\n%s", got, want)
	}
}

// fork returns a copy that can do so many writes.
func (l *language) fork(writes int) *operator {
	o := *l.operator
	o.world, o.writes, o.problems = l.world.clone(), writes, maps.Clone(l.problems)
	return &o
}

// checkCrashes: a crash after any one write, of many writes some, and another run,
// reach the same state.
// Not where two children want one object, or what one makes another adopts: that
// shows only once both names are known, and what was made until then stays.
func (l *language) checkCrashes(always bool) {
	straight := l.fork(-1)
	straight.converge(l.t)
	if text := straight.plan(l.t).String(); !always && (strings.Contains(text, " are both ") || strings.Contains(text, " both give ")) {
		return
	}
	for writes := 0; ; writes += 1 + writes/3 {
		crashed := l.fork(writes)
		done := crashed.converge(l.t)
		crashed.writes, crashed.problems = -1, nil
		crashed.converge(l.t)
		if got, want := crashed.all(), straight.all(); got != want {
			l.r.Fatalf("after a crash behind %d writes the world is\n%s\nwithout:\n%s", writes, got, want)
		}
		if done {
			return
		}
	}
}

// all shows the world and the owner, without what differs between two runs.
func (o *operator) all() string {
	w := o.world.clone()
	w.objects = slices.DeleteFunc(w.objects, o.isUnseen)
	text := w.String()
	if o.gone {
		return text + "no owner"
	}
	inv, _ := inventory.ParseInventory(o.owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	for _, e := range inv.Entries {
		if obj := o.world.findIn(e.GVK.Kind, e.Namespace, e.Name); obj != nil && obj.GetUID() == e.UID {
			e.UID = "right"
		}
		text += e.String() + "\n"
	}
	return text + fmt.Sprint(o.owner.GetFinalizers())
}
