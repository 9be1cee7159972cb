package e2e

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestCrashes: wherever Ambit is cut off while it makes a child that only the owner's
// record leads to, or removes it, the next run comes to the same end: one object, or
// none, and no mark that is left.
func TestCrashes(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		method   string
		what     func(name string) string // how the path ends
		answered bool
		deleting bool
	}{
		"AfterTheCreate": {reason: "the child is there, and its uid is not in the record", method: http.MethodPost, what: copiesPath, answered: true},
		"AfterTheDelete": {reason: "the child is gone, and still in the record", method: http.MethodDelete, what: copyPath, answered: true, deleting: true},
	}
	w := newWorld(t, "marks")
	home, there := w.namespace(homeRights()...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			c := &cut{matches: isRequest(tc.method, tc.what("x")), answered: tc.answered}
			if tc.deleting {
				stop := w.run([]string{home}, copies(t, ""))
				w.copiesTo(home, "x", there)
				w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
				w.recorded(home, "x", there)
				stop()
			}
			l := w.launch(c.config(w.control.User(w.user)), []string{home}, copies(t, ""))
			if tc.deleting {
				w.deleteOwner(home, "x")
			} else {
				w.copiesTo(home, "x", there)
			}
			select {
			case <-c.ch:
			case <-t.Context().Done():
				t.Fatalf("%s: there was no such request", tc.reason)
			}
			l.stop()
			stop := w.run([]string{home}, copies(t, ""))
			defer stop()
			if !tc.deleting {
				w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
				w.copyHas(there, "x", "1")
				w.recorded(home, "x", there)
				w.deleteOwner(home, "x")
			}
			w.ownerGone(home, "x")
			w.noCopy(there, "x")
		})
	}
}

func copiesPath(string) string    { return "/configmaps" }
func copyPath(name string) string { return "/configmaps/" + name }

// recorded waits until an owner's record has the uid of its copy, and its finalizer
// stands.
func (w *world) recorded(namespace, name, there string) {
	w.t.Helper()
	w.eventually("the copy is in the owner's record", func(ctx context.Context) error {
		made, err := w.typed.CoreV1().ConfigMaps(there).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		record := owner.GetAnnotations()[v1alpha1.AnnotationChildren]
		if !strings.Contains(record, string(made.UID)) || len(owner.GetFinalizers()) != 1 {
			return fmt.Errorf("record %q, finalizers %v, uid %s", record, owner.GetFinalizers(), made.UID)
		}
		return nil
	})
}

// TestHeldBack: an owner whose child may not be deleted keeps its finalizer and says
// why; it goes when the right is there.
func TestHeldBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "held")
	home, there := w.namespace(homeRights()...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	w.run([]string{home}, copies(t, ""))
	w.copiesTo(home, "x", there)
	w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
	w.setRules(there, without([]rbacv1.PolicyRule{rightsTo("", "configmaps")}, "configmaps", "delete")...)
	w.decided(there, false, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"delete"}})
	w.deleteOwner(home, "x")
	message := w.condition(home, "x", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonForbidden)
	if !strings.Contains(message, "cannot delete configmaps") {
		t.Errorf("message is %q", message)
	}
	w.copyHas(there, "x", "1")
	w.setRules(there, rightsTo("", "configmaps"))
	w.ownerGone(home, "x")
	w.noCopy(there, "x")
}
