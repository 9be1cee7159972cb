package ownerreconcile

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// setDenied has reviews deny these rights.
func (w *world) setDenied(denied ...string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.denied = denied
}

// TestMissingRight: a request that is known to be refused is not sent; the status names what is missing, and
// what is permitted is done all the same.
func TestMissingRight(t *testing.T) {
	cases := map[string]struct {
		reason  string
		denied  []string
		want    []string
		stalled string
	}{
		"Create": {reason: "the child cannot be made", denied: []string{"create configmaps home"}, want: []string{patchStatus}, stalled: `create configmaps in namespace "home"`},
		"Patch":  {reason: "to make it needs no such right, and later it will", denied: []string{"patch configmaps home"}, want: []string{createChild, patchStatus}, stalled: `patch configmaps in namespace "home"`},
		"Watch":  {reason: "what is there cannot be seen, so that nothing may be made", denied: []string{"watch configmaps home"}, want: []string{patchStatus}, stalled: `watch configmaps in namespace "home"`},
		"Status": {reason: "there is no place to say it", denied: []string{"patch owners home"}, want: []string{createChild}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testWorld(t, oneChild, func(w *world) {
				w.setDenied(tc.denied...)
				w.checkWrites(tc.reason, w.reconcile(), tc.want...)
				w.checkCondition(tc.reason, "Stalled", tc.stalled)
				w.checkWrites(tc.reason+", and nothing has happened", w.reconcile())
			})
		})
	}
}

// TestUnexpectedRefusal: a right that a review has granted and a write finds missing is reported, and nothing
// is said of it before a review has confirmed it.
func TestUnexpectedRefusal(t *testing.T) {
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "child", errors.New(`User "bot" cannot create resource "configmaps" in API group "" in the namespace "home"`))
	testWorld(t, oneChild, func(w *world) {
		w.setRefuse(answering(createChild, forbidden))
		r := w.reconcile()
		w.checkWrites("the create is refused", r, createChild)
		if !r.IsRefusalUnconfirmed() || w.condition("Ready") != "" {
			t.Errorf("it is unconfirmed: %t, and the owner is told %q", r.IsRefusalUnconfirmed(), w.condition("Ready"))
		}
		if diff := cmp.Diff([]string{"create configmaps home"}, w.reported); diff != "" {
			t.Errorf("reported (-want +got):\n%s", diff)
		}
		r = w.reconcile()
		w.checkWrites("the review has not denied it, and the same is not tried again", r, patchStatus)
		w.checkCondition("it stands", "Stalled", "create configmaps")
		w.setRefuse(nil)
		time.Sleep(r.again)
		w.checkWrites("it is tried again in time, and accepted", w.reconcile(), createChild, patchStatus)
		w.checkCondition("it is accepted", "Ready", "True")
		w.checkCondition("it is accepted", "Stalled", "")
	})
}

// TestRefusalOfChild: a write that the API server refuses is said in the status, and tried again with a
// backoff, but at once if the policy wants another one.
func TestRefusalOfChild(t *testing.T) {
	resource := schema.GroupResource{Resource: "configmaps"}
	cases := map[string]struct {
		reason string
		err    error
		says   string
	}{
		"Quota":       {reason: "a quota is used up", err: apierrors.NewForbidden(resource, "child", errQuota), says: "exceeded quota"},
		"Invalid":     {reason: "the object is wrong", err: apierrors.NewInvalid(schema.GroupKind{Kind: "ConfigMap"}, "child", field.ErrorList{field.Required(field.NewPath("data"), "")}), says: "data: Required"},
		"Unavailable": {reason: "the API server has no leader", err: apierrors.NewServiceUnavailable("no leader"), says: "no leader"},
		"Throttled":   {reason: "the API server has too much to do", err: apierrors.NewTooManyRequests("not now", 1), says: "not now"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testWorld(t, oneChild, func(w *world) {
				w.setRefuse(answering(createChild, tc.err))
				r := w.reconcile()
				w.checkWrites(tc.reason, r, createChild, patchStatus)
				if got := w.condition("Ready"); !strings.HasPrefix(got, "False") || !strings.Contains(got, tc.says) {
					t.Errorf("%s: the owner is told %q, want %q", tc.reason, got, tc.says)
				}
				w.checkWrites(tc.reason+": an event before its time", w.reconcile())
				var waits []time.Duration
				for range 3 {
					waits = append(waits, r.again)
					time.Sleep(r.again)
					r = w.reconcile()
					w.checkWrites(tc.reason+": in its time", r, createChild)
				}
				if waits[0] <= 0 || waits[0] > time.Second || waits[2] < 2*waits[0] {
					t.Errorf("%s: tried again after %v, want it less and less often", tc.reason, waits)
				}
				w.patch(owners, "home", "x", `{"spec":{"mark":"two"}}`)
				w.setRefuse(nil)
				w.checkWrites(tc.reason+": another write", w.reconcile(), createChild, patchStatus)
				w.checkCondition(tc.reason+": another write", "Ready", "True")
			})
		})
	}
}

// TestRefusalOfStatus: what stands in the way of the status is in nobody else's way.
func TestRefusalOfStatus(t *testing.T) {
	resource := schema.GroupResource{Group: "example.com", Resource: "owners"}
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "example.com", Kind: "Owner"}, "x", field.ErrorList{field.Invalid(field.NewPath("status", "seen"), "one", "must be a number")})
	cases := map[string]struct {
		reason string
		err    error
		ready  string // what is said after the refusals
		again  bool   // it is tried again without an event
		sent   int    // how many patches, at first
	}{
		"Conflict":    {reason: "the owner has changed meanwhile", err: apierrors.NewConflict(resource, "x", nil), again: true, sent: 1},
		"NotFound":    {reason: "the kind has no status, or the owner is gone", err: apierrors.NewNotFound(resource, "x"), sent: 1},
		"Unavailable": {reason: "it is tried again", err: apierrors.NewServiceUnavailable("no leader"), again: true, sent: 1},
		"Invalid":     {reason: "the policy's part of it is wrong: Ambit's own says so", err: invalid, ready: "False Invalid", sent: 2, again: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			testWorld(t, oneChild, func(w *world) {
				w.setRefuse(func(request string, n int) error {
					if request == patchStatus && n == 1 {
						return tc.err
					}
					return nil
				})
				r := w.reconcile()
				want := []string{createChild}
				for range tc.sent {
					want = append(want, patchStatus)
				}
				w.checkWrites(tc.reason, r, want...)
				if (r.again > 0) != tc.again {
					t.Errorf("%s: it is looked at again in %s", tc.reason, r.again)
				}
				w.checkCondition(tc.reason, "Ready", tc.ready)
			})
		})
	}
}

// TestForbiddenStatus: where the status turns out not to be writable, that is reviewed.
func TestForbiddenStatus(t *testing.T) {
	testWorld(t, oneChild, func(w *world) {
		w.setRefuse(answering(patchStatus, apierrors.NewForbidden(schema.GroupResource{Group: "example.com", Resource: "owners"}, "x", nil)))
		r := w.reconcile()
		w.checkWrites("the status is refused", r, createChild, patchStatus)
		problem := r.problems[statusProblem]
		if problem.Reason != v1alpha1.ReasonForbidden || !strings.Contains(problem.Message, `patch owners.example.com/status in namespace "home"`) {
			t.Errorf("what stands in the way is %+v", problem)
		}
		if len(w.reported) != 1 || !strings.HasPrefix(w.reported[0], "patch owners") {
			t.Errorf("reported is %v, want the patch", w.reported)
		}
	})
}

var errQuota = errors.New("exceeded quota: pods")
