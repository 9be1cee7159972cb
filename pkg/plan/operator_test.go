package plan

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
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
	standing []Problem
	settled  map[types.UID]string
	// missing are kinds that are not served, denied namespaces in which nothing may be seen.
	missing, denied []string
	// labelled: places show only what has the policy's label, as streams do.
	labelled bool
	// retire: the policy does not want the owner. ensuring: plans are of Ensure.
	// stays: the other policy on the owner does not clean up.
	retire, ensuring, stays bool
	// lives is for snapshots; nil: nobody knows.
	lives func(types.UID) bool
	// gone: the owner is not there any more.
	gone  bool
	wants []Query
	// before is the program that was replaced; former is for snapshots.
	before *policy.Program
	former []schema.GroupVersionKind
	// writes is how many writes may still be made before a crash; negative: any number.
	writes int
	// now is for snapshots.
	now time.Time
}

const testSecret = "0123456789abcdef"

// entryOf is an entry; object is as in `namespace/name/uid`.
func entryOf(child, apiVersion, kind, object string) inventory.Entry {
	namespace, rest, _ := strings.Cut(object, "/")
	name, uid, _ := strings.Cut(rest, "/")
	return inventory.Entry{Child: child, GVK: schema.FromAPIVersionAndKind(apiVersion, kind), Namespace: namespace, Name: name, UID: types.UID(uid)}
}

func compile(t testing.TB, spec string) *policy.Program {
	t.Helper()
	return compilePolicy(t, "test", "Cache", spec)
}

func compilePolicy(t testing.TB, name, owner, spec string) *policy.Program {
	t.Helper()
	text := fmt.Sprintf("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: %s, namespace: ambit-system}\n"+
		"spec:\n  owner: {apiVersion: example.com/v1, kind: %s}\n", name, owner)
	for line := range strings.Lines(spec) {
		text += "  " + line
	}
	documents, err := syntax.Parse("test.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("parsing a policy: %v\n%s", err, text)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatalf("compiling a policy: %v\n%s", err, text)
	}
	program.Label = name // which is what the stories have in records and managers
	return program
}

// snapshot shows what package watch would of the wanted places: projected objects
// with our entries of managedFields only.
func (o *operator) snapshot() Snapshot {
	s := Snapshot{
		Owner: o.owner, Namespaced: map[schema.GroupVersionKind]bool{}, Children: map[Location]Input{}, Watches: map[string]Input{},
		Problems: o.problems, Standing: o.standing, ServerNormalized: o.settled, Retire: o.retire, OtherStays: o.stays, Claim: fmt.Sprintf("claim-%016d", o.world.next),
		Former: o.former, Lives: o.lives, Now: o.now,
	}
	if o.ensuring {
		s.Owner = nil
	}
	for _, c := range slices.Concat(o.program.Children, o.program.Ensured) {
		if slices.Contains(o.missing, c.GVK.Kind) {
			s.Children[Location{Child: c.ID}] = Input{Blocked: notServed(c.GVK.Kind)}
			continue
		}
		s.Namespaced[c.GVK] = !isClusterScoped(c.GVK.Kind)
	}
	for _, w := range o.wants {
		s.Children[w.Location] = o.observe(w)
	}
	for _, w := range o.program.Watches {
		var in Input
		for _, obj := range o.world.objects {
			if obj.GroupVersionKind() == w.GVK {
				in.Objects = append(in.Objects, &unstructured.Unstructured{Object: w.Fields.ProjectObject(obj.Object)})
			}
		}
		s.Watches[w.ID] = o.input(w.ID, in)
	}
	return s
}

func notServed(kind string) *Problem {
	return &Problem{Reason: v1alpha1.ReasonKindMissing, Terminal: true, Gone: true, Message: "the API server does not serve kind " + kind}
}

// observe shows a wanted place.
func (o *operator) observe(w Query) Input {
	if slices.Contains(o.missing, w.GVK.Kind) {
		return Input{Blocked: notServed(w.GVK.Kind)}
	}
	if slices.Contains(o.denied, w.Namespace) {
		return Input{Blocked: &Problem{Reason: v1alpha1.ReasonForbidden, Terminal: true, Message: "nothing may be seen in " + w.Namespace}}
	}
	kept := leftoverFields().Add("metadata", "name").Add("metadata", "namespace").Add("metadata", "uid").Add("metadata", "resourceVersion").
		Add("metadata", "labels").Add("metadata", "deletionTimestamp").Add("kind").Add("apiVersion")
	for _, c := range slices.Concat(o.program.Children, o.program.Ensured) {
		if c.ID == w.Child {
			kept = ObservedFields(c)
		}
	}
	managers := []string{v1alpha1.FieldManager(o.program.Label), v1alpha1.MergeManager(o.program.Label, o.owner.GetUID())}
	var in Input
	for _, obj := range o.world.objects {
		if obj.GroupVersionKind() == w.GVK && obj.GetNamespace() == w.Namespace && o.shows(w, obj) {
			in.Objects = append(in.Objects, &unstructured.Unstructured{Object: withEntries(kept.ProjectObject(obj.Object), obj, managers...)})
		}
	}
	return o.input(w.Child, in)
}

// shows says whether an object is among those to look at in a place.
func (o *operator) shows(w Query, obj *unstructured.Unstructured) bool {
	if w.Names != nil {
		return slices.Contains(w.Names, obj.GetName())
	}
	return !o.labelled || obj.GetLabels()[v1alpha1.LabelPolicy] == o.program.Label
}

func (o *operator) input(id string, in Input) Input {
	if problem, ok := o.blocked[id]; ok {
		return Input{Blocked: &problem}
	}
	return in
}

func withEntries(projected map[string]any, full *unstructured.Unstructured, managers ...string) map[string]any {
	list, ok := objectmeta.FieldAt(full.Object, "metadata", "managedFields").([]any)
	if !ok {
		return projected
	}
	ours := slices.DeleteFunc(slices.Clone(list), func(e any) bool { return !slices.Contains(managers, objectmeta.TextOf(e.(map[string]any)["manager"])) })
	if ours == nil {
		ours = []any{}
	}
	submap(projected, "metadata")["managedFields"] = ours
	return projected
}

// plan observes what the last plan wants until the next one wants nothing else.
func (o *operator) plan(t testing.TB) *Plan {
	t.Helper()
	for range 10 {
		p := o.make(t)
		o.former = p.Former
		if reflect.DeepEqual(p.Queries, o.wants) || len(p.Queries) == 0 {
			return p
		}
		o.wants = p.Queries
	}
	t.Fatalf("every plan wants something else: %v", o.wants)
	return nil
}

func (o *operator) make(t testing.TB) *Plan {
	if o.ensuring {
		return Ensure(t.Context(), o.program, o.snapshot())
	}
	return Make(t.Context(), o.program, o.snapshot())
}

// converge plans and applies until nothing is left to do; it returns false if it
// crashed before.
func (o *operator) converge(t testing.TB) bool {
	t.Helper()
	for range 60 {
		if o.gone {
			return true
		}
		p := o.plan(t)
		if len(p.Actions) == 0 && p.OwnerMetadata == nil {
			return true
		}
		if p.OwnerMetadata != nil && !o.mark(p.OwnerMetadata) {
			return false
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

// mark changes the owner's metadata.
func (o *operator) mark(m *OwnerMetadata) bool {
	if !o.write() {
		return false
	}
	o.owner = o.owner.DeepCopy()
	finalizers := slices.DeleteFunc(o.owner.GetFinalizers(), func(f string) bool { return f == v1alpha1.FinalizerCleanup })
	if m.Finalizer {
		finalizers = append(finalizers, v1alpha1.FinalizerCleanup)
	}
	o.owner.SetFinalizers(finalizers)
	annotations := o.owner.GetAnnotations()
	delete(annotations, v1alpha1.AnnotationChildren)
	if m.Children != "" {
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1alpha1.AnnotationChildren] = m.Children
	}
	o.owner.SetAnnotations(annotations)
	o.collectGarbage()
	return true
}

// deleteOwner is a DELETE of the owner.
func (o *operator) deleteOwner() {
	o.owner = o.owner.DeepCopy()
	submap(o.owner.Object, "metadata")["deletionTimestamp"] = "2026-01-01T00:00:00Z"
	o.collectGarbage()
}

// collectGarbage takes a deleted owner without finalizers away, and what it
// controls.
func (o *operator) collectGarbage() {
	if !objectmeta.IsDeleting(o.owner) || len(o.owner.GetFinalizers()) > 0 {
		return
	}
	o.gone = true
	o.world.objects = slices.DeleteFunc(o.world.objects, func(obj *unstructured.Unstructured) bool { return claims.IsControlled(obj, o.owner.GetUID()) })
}

// do carries out one action as package apply would. It returns false on a crash.
func (o *operator) do(a Action) bool {
	manager := v1alpha1.FieldManager(o.program.Label)
	live := o.world.findIn(a.GVK.Kind, a.Namespace, a.Name)
	if a.Verb == Create {
		return o.create(a, live)
	}
	if live == nil || live.GetUID() != a.UID {
		o.world.crimes = append(o.world.crimes, "ambit acts on what it did not observe: "+a.titleText())
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
	switch a.Verb {
	case Delete:
		o.world.remove(live)
	case Merge:
		o.merge(live, a)
	case Release:
		o.world.apply(live, &unstructured.Unstructured{Object: map[string]any{"kind": a.GVK.Kind}}, a.Manager)
	default:
		o.world.check(live, "applies to")
		o.change(live, a, manager)
	}
	return true
}

// change writes as package apply does, and finds out whether an apply would have given the same.
func (o *operator) change(live *unstructured.Unstructured, a Action, manager string) {
	before := slices.Clone(o.world.objects)
	o.world.apply(live, a.Object, manager)
	if a.Changes == nil {
		return
	}
	applied := encodeUnmanaged(o.world.findIn(a.GVK.Kind, a.Namespace, a.Name))
	o.world.objects = before
	o.world.edit(live, a.Changes, manager)
	if patched := encodeUnmanaged(o.world.findIn(a.GVK.Kind, a.Namespace, a.Name)); patched != applied {
		o.world.crimes = append(o.world.crimes, fmt.Sprintf("%s: the merge patch gives\n%s\nthe apply\n%s", a.titleText(), patched, applied))
	}
}

// encodeUnmanaged is an object without what each write changes.
func encodeUnmanaged(obj *unstructured.Unstructured) string {
	obj = obj.DeepCopy()
	obj.SetManagedFields(nil)
	obj.SetResourceVersion("")
	return encode(obj.Object)
}

func (o *operator) create(a Action, live *unstructured.Unstructured) bool {
	if !o.write() {
		return false
	}
	manager := v1alpha1.FieldManager(o.program.Label)
	switch {
	case live == nil:
		o.world.create(a.Object, manager)
	case a.Adopt && o.claimant().MayAdopt(live):
		o.world.own(live)
		o.world.apply(live, a.Object, manager)
	case o.labelled: // it was not to be seen
		if o.problems == nil {
			o.problems = map[string]Problem{}
		}
		o.problems[a.Key()] = Problem{Reason: v1alpha1.ReasonNameConflict, Terminal: true, Message: "it exists"}
	default:
		o.world.crimes = append(o.world.crimes, "ambit creates what exists: "+a.titleText())
	}
	return true
}

// claimant is as package apply has it.
func (o *operator) claimant() claims.Claimant {
	if o.ensuring {
		return claims.Claimant{Policy: o.program.Label, Lives: o.lives}
	}
	return claims.Claimant{Policy: o.program.Label, Owner: o.owner.GetUID(), Namespace: o.owner.GetNamespace(), Lives: o.lives}
}

func (o *operator) merge(live *unstructured.Unstructured, a Action) {
	if other := o.world.conflict(live, a.Object, a.Manager); other != "" {
		if o.problems == nil {
			o.problems = map[string]Problem{}
		}
		o.problems[a.Key()] = Problem{Reason: v1alpha1.ReasonFieldConflict, Terminal: true, Message: other + " has a field"}
		return
	}
	o.world.apply(live, a.Object, a.Manager)
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
		unstructured.RemoveNestedField(obj.Object, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(obj.Object, "metadata", "annotations", v1alpha1.AnnotationClaim)
		fmt.Fprintln(&b, encode(obj.Object))
	}
	return b.String()
}
