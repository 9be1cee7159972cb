package plan

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// attack is a story in which the author of an owner, who knows everything, writes the
// owner and its record between the passes of ambit.
type attack struct {
	*operator
	t *testing.T
}

func newAttack(t *testing.T, spec string) *attack {
	o := &operator{world: &world{}, writes: -1, program: compile(t, spec)}
	o.setOwner(t, "spec: {}")
	return &attack{o, t}
}

// victim makes an object of somebody else.
func (a *attack) victim(kind, namespace, name string) *unstructured.Unstructured {
	obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "example.com/v1", "kind": kind, "spec": map[string]any{"precious": "yes"}}}
	obj.SetNamespace(namespace)
	obj.SetName(name)
	a.world.create(obj, "somebody")
	return a.world.findIn(kind, namespace, name)
}

// writeSpec and writeRecord change the owner as its author can.
func (a *attack) writeSpec(spec string) {
	a.owner = a.owner.DeepCopy()
	object := map[string]any{}
	decode(a.t, spec, &object)
	a.owner.Object["spec"] = object
}

func (a *attack) writeRecord(inv inventory.Inventory) {
	a.owner = a.owner.DeepCopy()
	annotations := a.owner.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[v1alpha1.AnnotationChildren] = inv.String()
	a.owner.SetAnnotations(annotations)
}

func (a *attack) record() inventory.Inventory {
	inv, err := inventory.ParseInventory(a.owner.GetAnnotations()[v1alpha1.AnnotationChildren])
	if err != nil {
		a.t.Fatalf("the record cannot be read: %v", err)
	}
	return inv
}

// stays reports that an object is still there, as it was made.
func (a *attack) stays(obj *unstructured.Unstructured) {
	a.t.Helper()
	now := a.world.findIn(obj.GetKind(), obj.GetNamespace(), obj.GetName())
	if now == nil || now.GetUID() != obj.GetUID() {
		a.t.Errorf("%s %s/%s is gone; crimes: %v", obj.GetKind(), obj.GetNamespace(), obj.GetName(), a.world.crimes)
	}
	if len(a.world.crimes) > 0 {
		a.t.Errorf("crimes: %v", a.world.crimes)
	}
}

// forgedRecord is a record that the attacker makes up, with the claim that goes with its
// only entry.
func (a *attack) forgedRecord(child, kind, namespace, name string) (inventory.Inventory, string) {
	e := entryOf(child, "example.com/v1", kind, namespace+"/"+name+"/")
	inv := inventory.Inventory{Policy: "test", TokenSecret: "the attacker's own secret", Owner: a.owner.GetUID(), Entries: []inventory.Entry{e}}
	return inv, inv.TokenOf(e)
}

// TestSmuggledClaim has a policy merge a claim into an object of somebody else, and then
// puts that object on record.
func TestSmuggledClaim(t *testing.T) {
	for name, annotations := range map[string]string{
		"Annotations": `annotations: "${owner.spec.annotations}"`,
		"OneKey":      `annotations: {note: "${owner.spec.annotations['ambit.dev/claim']}"}`,
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttack(t, `children:
- id: copy
  when: has(owner.spec.copy)
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: copy, namespace: third}}
- id: note
  existing: Merge
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: "${owner.spec.target}", namespace: shared, `+annotations+`}}
`)
			victim := a.victim("Gadget", "shared", "victim")
			a.victim("Gadget", "shared", "other")
			forged, claim := a.forgedRecord("copy", "Gadget", "shared", "victim")
			a.writeSpec(fmt.Sprintf("{target: victim, annotations: {note: x, ambit.dev/claim: %q, ambit.dev/child: copy}}", claim))
			a.converge(t)
			a.writeRecord(forged)
			a.writeSpec("{target: other, annotations: {note: x, ambit.dev/claim: x}}")
			a.converge(t)
			a.stays(victim)
			a.deleteOwner()
			a.converge(t)
			a.stays(victim)
		})
	}
}

// TestOverriddenOrphan rewrites the record so that what is to be left behind seems not to
// be.
func TestOverriddenOrphan(t *testing.T) {
	const spec = `children:
- id: data
  onDelete: Orphan
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: "${owner.spec.name}", namespace: shared}}
`
	rewrites := map[string]func(a *attack, inv *inventory.Inventory){
		"UnknownChild": func(a *attack, inv *inventory.Inventory) { inv.Entries[0].Child, inv.Entries[0].Orphan = "zzz", false },
		"NoFlag":       func(a *attack, inv *inventory.Inventory) { inv.Entries[0].Orphan = false },
		"OtherKind": func(a *attack, inv *inventory.Inventory) {
			a.program = compile(a.t, strings.ReplaceAll(spec, "Gadget", "Widget"))
			inv.Entries[0].Orphan = false
		},
		"NoChildAnyMore": func(a *attack, inv *inventory.Inventory) {
			a.program = compile(a.t, strings.ReplaceAll(strings.ReplaceAll(spec, "onDelete: Orphan", ""), "id: data", "id: other"))
			inv.Entries[0].Orphan = false
		},
	}
	for name, rewrite := range rewrites {
		for _, end := range []string{"Unwanted", "Deleted", "Retired"} {
			t.Run(name+end, func(t *testing.T) {
				a := newAttack(t, spec)
				a.writeSpec("{name: precious}")
				a.converge(t)
				data := a.world.findIn("Gadget", "shared", "precious")
				inv := a.record()
				rewrite(a, &inv)
				a.writeRecord(inv)
				a.owner.SetFinalizers([]string{v1alpha1.FinalizerCleanup})
				switch end {
				case "Unwanted":
					a.writeSpec("{name: another}")
				case "Deleted":
					a.deleteOwner()
				case "Retired":
					a.retire = true
				}
				a.converge(t)
				a.stays(data)
			})
		}
	}
}

// TestCopiedRecord puts the record of one owner on another one, in another namespace.
func TestCopiedRecord(t *testing.T) {
	a := newAttack(t, `children:
- id: data
  when: has(owner.spec.name)
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: "${owner.spec.name}", namespace: shared}}
`)
	a.writeSpec("{name: theirs}")
	a.converge(t)
	theirs, record := a.world.findIn("Gadget", "shared", "theirs"), a.record()
	a.setOwner(t, "{metadata: {name: evil, namespace: evil, uid: evil-uid}, spec: {}}")
	a.world.made, a.wants = nil, nil
	for _, end := range []string{"unwanted", "wanted", "deleted"} {
		a.writeRecord(record)
		switch end {
		case "wanted":
			a.writeSpec("{name: theirs}")
		case "deleted":
			a.owner.SetFinalizers([]string{v1alpha1.FinalizerCleanup})
			a.deleteOwner()
		}
		a.converge(t)
		a.stays(theirs)
	}
}

// TestForgedEnsured has a child say that the policy itself ensures it, so that the turn of
// the policy and that of the owner undo each other's work.
func TestForgedEnsured(t *testing.T) {
	a := newAttack(t, `ensure:
- id: base
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: base, namespace: default}}
children:
- id: web
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: web, annotations: "${owner.spec.annotations}", labels: "${owner.spec.annotations}"}}
`)
	a.writeSpec("{annotations: {ambit.dev/ensured-by: ambit-system/test}}")
	var web *unstructured.Unstructured
	for turn := range 3 {
		a.ensuring, a.wants = turn%2 == 1, nil
		a.converge(t)
		if web == nil {
			web = a.world.findIn("Gadget", "default", "web")
		}
		a.stays(web)
	}
}

// TestLostRecordOrphan has somebody write an ownerReference to the owner on an object that
// is to be left behind, and then lose the record of it.
func TestLostRecordOrphan(t *testing.T) {
	const spec = `children:
- id: data
  onDelete: Orphan
  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: data}}
`
	for name, lose := range map[string]func(a *attack){
		"Replaced": func(a *attack) {
			inv := a.record()
			inv.TokenSecret, inv.Entries[0].Child, inv.Entries[0].Orphan = "another secret, as long as one has to be", "zzz", false
			a.writeRecord(inv)
		},
		"Removed": func(a *attack) { a.writeRecord(inventory.Inventory{}) },
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttack(t, spec)
			a.converge(t)
			data := a.world.findIn("Widget", "default", "data")
			a.world.edit(data, map[string]any{"metadata": map[string]any{"ownerReferences": []any{map[string]any{
				"apiVersion": "v1", "kind": "Cache", "name": "x", "uid": string(a.owner.GetUID()), "controller": true}}}}, "somebody")
			lose(a)
			a.program = compile(t, strings.NewReplacer("Widget", "Gadget", "id: data", "id: other").Replace(spec)+`- id: web
  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: web}}
`)
			a.converge(t)
			a.stays(data)
		})
	}
}
