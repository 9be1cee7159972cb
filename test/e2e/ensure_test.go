package e2e

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestEnsure: what the policy itself needs is made without any owner, is kept as it
// should be, and a right that is missing for it is said of the policy.
func TestEnsure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "ensure")
	home, there := w.namespace(homeRights()...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	ensured := copies(t, `
  ensure:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: settings, namespace: `+there+`}
        data: {size: "${policy.name}"}
`)
	a := w.runMeasured([]string{home}, ensured)
	w.copyHas(there, "settings", "copies")
	w.patchConfigMap(there, "settings", `{"data":{"size":"other","theirs":"x"}}`)
	w.copyHas(there, "settings", "copies")
	w.haltedFor(a, "")
	w.streamsAre("memcacheds "+home, "configmaps "+there)

	w.setRules(there, without([]rbacv1.PolicyRule{rightsTo("", "configmaps")}, "configmaps", "patch")...)
	w.decided(there, false, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"patch"}})
	w.patchConfigMap(there, "settings", `{"data":{"size":"again"}}`)
	w.haltedFor(a, v1alpha1.ReasonForbidden)
	w.deniesOnly(a, there, "ambit-system/copies: patch configmaps")
	w.setRules(there, rightsTo("", "configmaps"))
	w.haltedFor(a, "")
	w.copyHas(there, "settings", "copies")

	mark := w.settled()
	a.stop()
	a = w.runMeasured([]string{home}, ensured)
	w.streamsAre("memcacheds "+home, "configmaps "+there)
	w.settledSince(mark)
	w.noRequests(mark, "after a restart", isStoryWrite)
	a.stop()
}
