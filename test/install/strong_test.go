package install

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// wantsStrong is the policy of somebody who would use an account that may do everything.
const wantsStrong = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: wants-strong}
spec:
  serviceAccountName: strong
  scope: {namespaces: [NAMESPACE]}
  owner: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {for: strong}}}
  children:
    - id: binding
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRoleBinding
        metadata: {name: stolen}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
        subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: nobody-at-all}]
`

// strongIsRefused: a policy that names a stronger account gets nothing by it, also where
// there is no check of authors: Ambit may not act as that account, and says so.
func strongIsRefused(t *testing.T, namespace string) {
	t.Helper()
	what := fmt.Sprintf(`cannot impersonate, list, watch serviceaccounts "strong" in namespace %q as system:serviceaccount:%s:ambit`, namespace, home)
	awaitStatus(t, namespace, "wants-strong", what)
	awaitStatus(t, namespace, "wants-strong", "ImpersonationRefused")
}

// strongTakesAGrant: what it takes is that an administrator lets Ambit act as that very
// account. Then the policy does what the account may: so docs/security.md warns of that
// grant. All goes with the policy.
func strongTakesAGrant(t *testing.T, namespace string) {
	t.Helper()
	letImpersonate(t, namespace, "strong")
	eventually(t, "the policy acts as the account", func() error {
		_, err := dynamicClient(t, control.Admin()).Resource(clusterRoleBindings).Get(t.Context(), "stolen", metav1.GetOptions{})
		return err
	})
	remove(t, policies, namespace, "wants-strong")
	nothingStolen(t)
}

// uncheck takes the check of authors away, as where it was never installed, and waits
// until the author feels it. Who needs it applies the manifests again.
func uncheck(t *testing.T, namespace string) {
	t.Helper()
	for _, name := range []string{"ambit-policy-authors", "ambit-configmap-authors"} {
		remove(t, admissionBindings, "", name)
	}
	eventually(t, "the check of authors is gone", func() error {
		return propose(t, control.User(author), namespace, policyAs(t, ""))
	})
}

// past writes a policy as the author, with nobody who checks it.
func past(t *testing.T, namespace, text string) {
	t.Helper()
	policy := object(t, []byte(strings.ReplaceAll(text, "NAMESPACE", namespace)))
	policy["metadata"].(map[string]any)["namespace"] = namespace
	createAs(t, control.User(author), policies, policy)
}
