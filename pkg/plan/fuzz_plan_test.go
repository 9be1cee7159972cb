package plan

import (
	"encoding/json"
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/claims"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// FuzzMake makes plans of arbitrary objects in the places of a program that uses the
// whole language, for owners in any state: no panic, the same inputs give the same
// plan, and nothing is deleted or released that is not provably ours.
func FuzzMake(f *testing.F) {
	f.Add(`{"spec":{"size":3,"names":["a","b"]}}`, `[{"metadata":{"name":"a","namespace":"other"}}]`, "", byte(0))
	f.Add(`{"spec":{"size":3,"names":["a",null,1]},"metadata":{"deletionTimestamp":"x","finalizers":["ambit.dev/cleanup"]}}`,
		`[{"metadata":{"name":"web","namespace":"default","uid":"u","ownerReferences":[{"uid":"owner-uid","controller":true}]}}]`, "other/a/", byte(1))
	f.Add(`{"spec":null,"metadata":{"finalizers":[null]}}`, `[null,{},{"metadata":[]}]`, "//", byte(7))
	program := wholeLanguage(f)
	f.Fuzz(func(t *testing.T, owner, objects, entry string, flags byte) {
		o := &operator{world: &world{}, program: program, writes: -1}
		if !o.fuzz(owner, objects, entry) {
			t.Skip()
		}
		o.retire = flags&1 > 0
		p := o.observeAll(t)
		if again := o.make(t); again.String() != p.String() {
			t.Fatalf("two plans:\n%s\n%s", p, again)
		}
		ledger := &subject{program: program, owner: "owner-uid", inventory: inventory.Update{Stored: inventory.ReadStored(program, o.owner)}}
		for _, a := range p.Actions {
			obj := o.world.findUID(a.GVK.Kind, a.UID)
			switch a.Verb {
			case Delete, Apply:
				if obj == nil || !claims.IsControlled(obj, "owner-uid") && !ledger.isOurs(a.GVK, obj) {
					t.Fatalf("this is not ours: %s", a.titleText())
				}
			case Merge, Release:
				if obj == nil || a.Manager != v1alpha1.MergeManager("test", "owner-uid") {
					t.Fatalf("this merges into nothing, or as somebody else: %s", a.titleText())
				}
			}
		}
	})
}

func wholeLanguage(t testing.TB) *policy.Program {
	return compile(t, `protect: {while: owner.spec.size > 100}
children:
- id: web
  template: {apiVersion: v1, kind: Widget, metadata: {name: web}, spec: {size: "${owner.spec.size}"}}
- id: each
  forEach: {as: s, in: owner.spec.names}
  keep: 1
  template: {apiVersion: v1, kind: Widget, metadata: {name: "${s}", namespace: other}, spec: {list: [{name: "${s}"}]}}
- id: asked
  forEach: {as: s, in: owner.spec.names}
  keepWhen: object.spec.size > 1
  template: {apiVersion: v1, kind: Widget, metadata: {name: "asked-${s}"}, spec: {size: 2}}
- id: added
  existing: Merge
  template: {apiVersion: v1, kind: Widget, metadata: {name: theirs}, spec: {size: "${owner.spec.size}"}}
- id: left
  onDelete: Orphan
  existing: Adopt
  dependsOn: [web]
  template: {apiVersion: v1, kind: Gadget, metadata: {name: left}}
`)
}

func parse(text string) (*unstructured.Unstructured, bool) {
	var object map[string]any
	if err := json.Unmarshal([]byte(text), &object); err != nil || object == nil {
		return nil, false
	}
	return &unstructured.Unstructured{Object: object}, true
}

// fuzz puts the owner and the objects into the world.
func (o *operator) fuzz(owner, objects, entry string) bool {
	parsed, ok := parse(owner)
	var list []map[string]any
	if !ok || json.Unmarshal([]byte(objects), &list) != nil || len(list) > 20 {
		return false
	}
	meta := submap(parsed.Object, "metadata")
	meta["uid"], meta["namespace"], meta["name"] = "owner-uid", "default", "sample"
	if entry != "" {
		inv := inventory.Inventory{Policy: "test", TokenSecret: testSecret, Entries: []inventory.Entry{entryOf("each", "v1", "Widget", entry)}}
		submap(meta, "annotations")[v1alpha1.AnnotationChildren] = inv.String()
	}
	o.owner = parsed
	for i, object := range list {
		obj := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": []string{"Widget", "Gadget"}[i%2]}}
		for _, key := range []string{"metadata", "spec", "data"} {
			if object[key] != nil {
				obj.Object[key] = object[key]
			}
		}
		submap(obj.Object, "metadata")["uid"] = fmt.Sprintf("uid-%d", i)
		o.world.objects = append(o.world.objects, obj)
	}
	return true
}

// observeAll plans until nothing else is wanted, and takes the last plan as it is.
func (o *operator) observeAll(t testing.TB) *Plan {
	p := o.make(t)
	for range 5 {
		o.wants = p.Queries
		p = o.make(t)
	}
	return p
}

func (w *world) findUID(kind string, uid types.UID) *unstructured.Unstructured {
	for _, obj := range w.objects {
		if obj.GetKind() == kind && obj.GetUID() == uid {
			return obj
		}
	}
	return nil
}
