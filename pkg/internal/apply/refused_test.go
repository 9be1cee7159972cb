package apply

import (
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestForbidden: what is refused for want of a right, and because of who asks for it, are
// told apart by the words of the API server. There is nothing else to tell them by.
func TestForbidden(t *testing.T) {
	for name, c := range map[string]struct{ reason, text, want string }{
		"Right": {
			"the verb is missing", `User "x" cannot create resource "configmaps" in API group "" in the namespace "a"`,
			v1alpha1.ReasonForbidden,
		},
		"Impersonation": {
			"the caller may not impersonate", `User "x" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "a"`,
			v1alpha1.ReasonImpersonationRefused,
		},
		"ConstrainedImpersonation": {
			"Kubernetes 1.36 asks for the verb as well", `User "x" cannot impersonate-on:serviceaccount:get resource "configmaps" in API group "" in the namespace "a"`,
			v1alpha1.ReasonImpersonationRefused,
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "one", errors.New(c.text))
			applier := Applier{Identity: "x"}
			if got := applier.refusedOutcome(err, "create", actionWrite{}).Problem.Reason; got != c.want {
				t.Errorf("%s: reason %s, want %s", c.reason, got, c.want)
			}
		})
	}
}
