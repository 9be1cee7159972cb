package ownerreconcile

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// TestLostAnswer: a write that was carried out, and whose answer did not come, is not done twice, and what it
// has made is found when it is to go.
func TestLostAnswer(t *testing.T) {
	cases := map[string]struct {
		reason, spec, namespace, create string
	}{
		"Here":      {reason: "the stream of its label shows it", spec: oneChild, namespace: "home", create: createChild},
		"Elsewhere": {reason: "the record leads to it", spec: elsewhere, namespace: "there", create: createThere},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testWorld(t, tc.spec, func(w *world) {
				w.lose = func(request string) error {
					if request == tc.create {
						return apierrors.NewTimeoutError("the answer is lost", 1)
					}
					return nil
				}
				w.reconcile()
				made := w.get(configMaps, tc.namespace, "child")
				if made == nil {
					t.Fatalf("%s: it was not made", tc.reason)
				}
				w.mu.Lock()
				w.lose = nil
				w.mu.Unlock()
				for range 3 {
					time.Sleep(2 * time.Second)
					w.reconcile()
				}
				if now := w.get(configMaps, tc.namespace, "child"); now == nil || now.GetUID() != made.GetUID() || now.GetResourceVersion() != made.GetResourceVersion() {
					t.Errorf("%s: it was written again", tc.reason)
				}
				w.checkCondition(tc.reason, "Ready", "True")
				w.retire = true
				for range 3 {
					w.reconcile()
					time.Sleep(2 * time.Second)
				}
				if w.get(configMaps, tc.namespace, "child") != nil {
					t.Errorf("%s: it is left behind", tc.reason)
				}
			})
		})
	}
}

// TestReadBeforeDropped: an entry of the record stays until its object was read by its name and is gone, whatever
// streams show.
func TestReadBeforeDropped(t *testing.T) {
	testWorld(t, elsewhere, func(w *world) {
		w.reconcile()
		w.retire = true
		w.setRefuse(answering("get configmaps there/child", apierrors.NewServiceUnavailable("no leader")))
		w.delete(configMaps, "there", "child")
		r := w.reconcile()
		if r.planned.Done || len(w.owner().GetAnnotations()) == 0 {
			t.Error("the record is dropped while the place cannot be read")
		}
		w.setRefuse(nil)
		for range 5 {
			time.Sleep(2 * time.Second)
			if r = w.reconcile(); r.planned.Done {
				break
			}
		}
		if !r.planned.Done || len(w.owner().GetAnnotations()) > 0 {
			t.Errorf("when it is read it is done: %t, and the record is %v", r.planned.Done, w.owner().GetAnnotations())
		}
	})
}
