package ownerreconcile

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/informer"
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

// heldInformers counts the holds of events that were not released.
type heldInformers struct {
	Informers
	held, begun int
}

func (h *heldInformers) HoldEvents(key informer.Key, name types.NamespacedName, handler informer.EventHandler) func(string) {
	release := h.Informers.HoldEvents(key, name, handler)
	h.held++
	h.begun++
	return func(resourceVersion string) {
		h.held--
		release(resourceVersion)
	}
}

// TestHoldEnds: the worker survives a reconcile that panics, and events of what it was about to write are told again.
func TestHoldEnds(t *testing.T) {
	for _, write := range []string{patchOwner, createThere, patchStatus} {
		t.Run(write, func(t *testing.T) {
			testWorld(t, elsewhere, func(w *world) {
				informers := &heldInformers{Informers: w.options.Informers}
				w.options.Informers = informers
				w.setRefuse(func(request string, _ int) error {
					if request == write {
						panic(write)
					}
					return nil
				})
				func() {
					defer func() {
						if r := recover(); r != write {
							t.Errorf("it ends with %v", r)
						}
					}()
					w.reconcile()
				}()
				if informers.held != 0 || informers.begun == 0 {
					t.Errorf("%d of %d holds are not released", informers.held, informers.begun)
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
