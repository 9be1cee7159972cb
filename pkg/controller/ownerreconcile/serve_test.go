package ownerreconcile

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// oneChild is a policy with a child beside the owner.
const oneChild = `
  children: [{id: child, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: child}, data: {mark: "${owner.spec.mark}"}}}]
  status: {seen: "${owner.spec.mark}"}
`

// elsewhere is a policy with a child in another namespace, which only the record of the owner leads to.
const elsewhere = `
  children: [{id: child, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: child, namespace: there}, data: {mark: "${owner.spec.mark}"}}}]
`

// The writes that tests are about.
const (
	createChild = "create configmaps home/child"
	patchChild  = "patch configmaps home/child"
	deleteChild = "delete configmaps home/child"
	createThere = "create configmaps there/child"
	deleteThere = "delete configmaps there/child"
	patchOwner  = "patch owners home/x"
	patchStatus = "patch owners/status home/x"
)

// checkWrites compares what a reconcile has written, in order.
func (w *world) checkWrites(reason string, got run, want ...string) {
	w.Helper()
	if diff := cmp.Diff(want, got.writes); diff != "" {
		w.Errorf("%s: writes (-want +got):\n%s", reason, diff)
	}
}

// checkCondition looks for a text in a condition of the owner; empty: there is to be no such condition.
func (w *world) checkCondition(reason, kind, want string) {
	w.Helper()
	if got := w.condition(kind); !strings.Contains(got, want) || want == "" && got != "" {
		w.Errorf("%s: the condition %s is %q, want %q", reason, kind, got, want)
	}
}

// TestServe: what is there is made as the policy wants it, by one write for each difference, and none where
// there is no difference.
func TestServe(t *testing.T) {
	testWorld(t, oneChild, func(w *world) {
		steps := []struct {
			reason string
			before func()
			want   []string
		}{
			{"nothing is there", func() {}, []string{createChild, patchStatus}},
			{"nothing has happened", func() {}, nil},
			{"the owner has changed", func() { w.patch(owners, "home", "x", `{"spec":{"mark":"two"}}`) }, []string{patchChild, patchStatus}},
			{"somebody has changed the child", func() { w.patch(configMaps, "home", "child", `{"data":{"mark":"theirs"}}`) }, []string{patchChild}},
			{"somebody has added to the child", func() { w.patch(configMaps, "home", "child", `{"data":{"more":"theirs"}}`) }, nil},
			{"somebody has deleted the child", func() { w.delete(configMaps, "home", "child") }, []string{createChild}},
			{"somebody has changed the status", func() { w.patch(owners, "home", "x", `{"status":{"seen":"theirs"}}`, "status") }, []string{patchStatus}},
			{"somebody has labelled the owner", func() { w.patch(owners, "home", "x", `{"metadata":{"labels":{"a":"b"}}}`) }, nil},
		}
		for _, step := range steps {
			step.before()
			r := w.reconcile()
			w.checkWrites(step.reason, r, step.want...)
			w.checkCondition(step.reason, "Ready", "True")
			want, _, _ := unstructured.NestedString(w.owner().Object, "spec", "mark")
			got, _, _ := unstructured.NestedString(w.get(configMaps, "home", "child").Object, "data", "mark")
			if got != want {
				t.Errorf("%s: the child says %q, want %q", step.reason, got, want)
			}
			if r.again > time.Minute || r.LastPlan() != r.planned {
				t.Errorf("%s: it is looked at again in %s, and the last plan is that of the status: %t", step.reason, r.again, r.LastPlan() == r.planned)
			}
		}
	})
}

// TestRecordComesFirst: a child that only the record leads to is made after its record was written, and goes
// before the finalizer and the record do. Then the owner is released.
func TestRecordComesFirst(t *testing.T) {
	testWorld(t, elsewhere, func(w *world) {
		r := w.reconcile()
		if len(r.writes) < 2 || r.writes[0] != patchOwner || r.writes[1] != createThere {
			t.Errorf("at first: %v, want the owner to be patched before the child is made", r.writes)
		}
		w.checkCondition("made", "Ready", "True")
		w.checkWrites("nothing has happened", w.reconcile())

		w.delete(owners, "home", "x")
		r = w.reconcile()
		if len(r.writes) < 2 || r.writes[0] != deleteThere || r.writes[len(r.writes)-1] != patchOwner {
			t.Errorf("when it is deleted: %v, want the child to go before the finalizer", r.writes)
		}
		if !r.IsReleased() || !w.state.IsReleased(r.CurrentOwner().GetUID()) || w.owner().GetUID() != "" {
			t.Errorf("the owner is released: %t, and is gone: %t", r.IsReleased(), w.owner().GetUID() == "")
		}
	})
}

// TestRetire: what is ours goes, and no mark of ours stays on an owner that the policy does not want any
// more, which itself stays.
func TestRetire(t *testing.T) {
	for name, tc := range map[string]struct{ spec, namespace, first string }{
		"Here":      {spec: oneChild, namespace: "home", first: deleteChild},
		"Elsewhere": {spec: elsewhere, namespace: "there", first: deleteThere},
	} {
		t.Run(name, func(t *testing.T) {
			testWorld(t, tc.spec, func(w *world) {
				w.reconcile()
				w.retire = true
				r := w.reconcile()
				if len(r.writes) == 0 || r.writes[0] != tc.first {
					t.Errorf("at first it writes %v, want %s", r.writes, tc.first)
				}
				for range 5 {
					if r.planned.Done {
						break
					}
					time.Sleep(time.Second)
					r = w.reconcile()
				}
				owner := w.owner()
				if !r.planned.Done || w.get(configMaps, tc.namespace, "child") != nil || owner.GetUID() == "" || len(owner.GetFinalizers()) > 0 || len(owner.GetAnnotations()) > 0 {
					t.Errorf("it is done: %t, and there is %v, beside the child: %v", r.planned.Done, owner.Object["metadata"], w.get(configMaps, tc.namespace, "child"))
				}
				w.checkWrites("it is done", w.reconcile())
			})
		})
	}
}

// TestStaleOwner: where the stream of owners is behind, nothing is undone that was written meanwhile: what is
// refused for that is tried again in a short while, and another owner of the name is left alone.
func TestStaleOwner(t *testing.T) {
	testWorld(t, elsewhere, func(w *world) {
		w.seen = w.owner()
		w.patch(owners, "home", "x", `{"metadata":{"labels":{"a":"b"}}}`)
		r := w.reconcile()
		w.checkWrites("the owner has changed since", r, patchOwner)
		if r.again == 0 || r.again > time.Second || w.get(configMaps, "there", "child") != nil {
			t.Errorf("it is looked at again in %s; the child: %v", r.again, w.get(configMaps, "there", "child"))
		}
		w.checkWrites("it is known to have changed", w.reconcile())
		w.seen = nil
		w.reconcile()
		w.checkCondition("it is seen as it is", "Ready", "True")
	})
}
