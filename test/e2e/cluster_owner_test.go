package e2e

import (
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/test/cluster"
)

// namespaced keeps a ConfigMap in each Namespace of its scope.
const namespaced = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: namespaced, namespace: ambit-system}
spec:
  scope: {namespaces: [A, B], exclude: [B]}
  owner: {apiVersion: v1, kind: Namespace}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: of-namespace, namespace: "${owner.metadata.name}"}
        data: {size: "${owner.metadata.?labels[?'size'].orValue('0')}"}
`

// TestClusterOwner: owners may be of a cluster-scoped kind, and of Kubernetes' own: a
// Namespace. Its status belongs to others and is left alone; the scope selects the
// Namespaces themselves.
func TestClusterOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "cluster-owner")
	a, b, c := w.namespace(), w.namespace(), w.namespace()
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch", "patch"}},
		rightsTo("", "configmaps"),
	}
	w.grantEverywhere("all", rules...)
	w.decided("", true, rules...)
	began := w.control.Audit().Mark()
	text := strings.NewReplacer("[A, B]", "["+a+", "+b+"]", "[B]", "["+b+"]").Replace(namespaced)
	w.run(nil, program(t, "namespaced.yaml", []byte(text)))
	w.copyHas(a, "of-namespace", "0")

	t.Run("TheOwnerIsFollowed", func(t *testing.T) {
		w := w.in(t)
		w.labelNamespace(a, `{"size":"7"}`)
		w.copyHas(a, "of-namespace", "7")
		w.patchConfigMap(a, "of-namespace", `{"data":{"size":"9"}}`)
		w.copyHas(a, "of-namespace", "7")
	})
	t.Run("TheScopeSelectsNamespaces", func(t *testing.T) {
		w := w.in(t)
		w.noCopy(b, "of-namespace")
		w.noCopy(c, "of-namespace")
	})
	t.Run("TheStatusIsLeftAlone", func(t *testing.T) {
		w := w.in(t)
		w.none(began, "a write on a status", func(r cluster.Request) bool { return r.IsWrite() && strings.Contains(r.URI, "/status") })
		w.none(began, "a refused request", isRefused)
	})
}
