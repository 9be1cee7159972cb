package plan

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestTakeBack follows the advice that an owner is given for an object that another one
// left behind: it does what it says, and only once that owner is gone.
func TestTakeBack(t *testing.T) {
	const spec = `children:
- id: data
  onDelete: Orphan
  existing: Refuse
  template: {apiVersion: example.com/v1, kind: Gadget, metadata: {name: data, namespace: shared}, spec: {size: "${owner.spec.size}"}}
`
	strip := map[string]any{"metadata": map[string]any{"labels": nil}}
	unclaim := map[string]any{"metadata": map[string]any{"annotations": map[string]any{v1alpha1.AnnotationClaim: nil}}}
	for name, tc := range map[string]struct {
		reason string
		// alive: the first owner is still there. unknown: nobody can know.
		alive, unknown bool
		// edits are what somebody does to the object before, and follow the advice.
		edits, follow []map[string]any
		says          string
		taken         bool
	}{
		"Gone":         {reason: "left behind", says: "this policy left it behind (onDelete: Orphan); it is left as it is: existing: Adopt takes it back", taken: true},
		"Alive":        {reason: "its owner has it", alive: true, says: "for another owner (uid"},
		"Unknown":      {reason: "its owner may have it", unknown: true, says: "if Ambit can see that this owner is gone, existing: Adopt takes the object back"},
		"Stripped":     {reason: "nobody can say whose it is", edits: []map[string]any{strip}, says: "a claim of an owner that is not known"},
		"AliveNoLabel": {reason: "its owner has it, and admission took the labels away", alive: true, edits: []map[string]any{strip}, says: "a claim of an owner that is not known"},
		"Unclaimed":    {reason: "somebody knows", edits: []map[string]any{strip}, follow: []map[string]any{unclaim}, says: "take ambit.dev/claim away", taken: true},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAttack(t, spec)
			a.setOwner(t, "{metadata: {name: first, namespace: shared, uid: first-uid}, spec: {size: 1}}")
			a.converge(t)
			for _, edit := range tc.edits {
				a.world.edit(a.world.find("Gadget", "data"), edit, "somebody")
			}
			data := a.world.find("Gadget", "data")
			if a.deleteOwner(); !tc.alive && !a.gone {
				t.Fatal("the first owner stays")
			}
			a.gone, a.wants = false, nil
			a.setOwner(t, "{metadata: {name: second, namespace: shared, uid: second-uid}, spec: {size: 2}}")
			if !tc.unknown {
				a.lives = func(uid types.UID) bool { return uid != "first-uid" || tc.alive }
			}
			a.converge(t)
			if said := a.plan(t).String(); !strings.Contains(said, tc.says) {
				t.Errorf("%s: want it to say %q:\n%s", tc.reason, tc.says, said)
			}
			a.stays(data)
			for _, edit := range tc.follow {
				a.world.edit(a.world.find("Gadget", "data"), edit, "somebody")
			}
			before := a.world.find("Gadget", "data").GetResourceVersion()
			a.program = compile(t, strings.Replace(spec, "Refuse", "Adopt", 1))
			a.converge(t)
			a.stays(data)
			now := a.world.find("Gadget", "data")
			if size, _, _ := unstructured.NestedInt64(now.Object, "spec", "size"); (size == 2) != tc.taken || (now.GetResourceVersion() != before) != tc.taken {
				t.Errorf("%s: it is now %s", tc.reason, encode(now.Object))
			}
			if e, ok := a.record().Entries, tc.taken; (len(e) == 1 && e[0].UID == data.GetUID()) != ok {
				t.Errorf("%s: on record are %v", tc.reason, e)
			}
		})
	}
}
