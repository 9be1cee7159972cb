package e2e

import (
	"fmt"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// laidOut makes a ConfigMap beside each Memcached, and reads the Pods of its name.
func laidOut(t *testing.T, mode v1alpha1.InformerMode) *policy.Program {
	t.Helper()
	return program(t, "laid-out.yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: laid-out, namespace: ambit-system}
spec:
  informers: %s
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  watches:
    - id: pods
      apiVersion: v1
      kind: Pod
      selector: {matchLabels: {app: "${owner.metadata.name}"}}
  children:
    - id: here
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {size: "${string(owner.spec.size)}", pods: "${string(size(pods))}"}
`, mode))
}

// TestInformers: a policy may say how its watches are laid out: for each owner, for each
// namespace, or for all together. Where the last is not permitted Ambit says so, and
// watches each namespace until it is.
func TestInformers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "informers")
	rights := append(rightsOn("memcacheds", "memcacheds/status", "pods"), rightsTo("", "configmaps"))
	a, b := w.namespace(rights...), w.namespace(rights...)
	w.decided(b, true, rights...)
	owners := []string{"memcacheds " + a, "memcacheds " + b}
	byNamespace := append([]string{"configmaps " + a, "configmaps " + b, "pods " + a, "pods " + b}, owners...)
	byOwner := append([]string{"configmaps " + a, "pods " + a}, byNamespace...)
	together := append([]string{"configmaps *", "pods *"}, owners...)
	w.createOwner(a, "x", 1)
	w.createOwner(a, "y", 1)
	w.createOwner(b, "x", 1)
	serves := func(w *world, size string) {
		w.t.Helper()
		w.copyHas(a, "x", size)
		w.copyHas(a, "y", "1")
		w.copyHas(b, "x", "1")
	}
	for mode, want := range map[v1alpha1.InformerMode][]string{v1alpha1.InformersOwner: byOwner, v1alpha1.InformersNamespace: byNamespace} {
		t.Run(string(mode), func(t *testing.T) {
			w := w.in(t)
			stop := w.run([]string{a, b}, laidOut(t, mode))
			serves(w, "1")
			w.streamsAre(want...)
			stop()
		})
	}
	t.Run("Cluster", func(t *testing.T) {
		w := w.in(t)
		l := w.launch(w.control.User(w.user), []string{a, b}, laidOut(t, v1alpha1.InformersCluster))
		serves(w, "1")
		w.streamsAre(byNamespace...)
		w.condition(a, "x", v1alpha1.ConditionPermitted, "True", "")
		w.says(l, 0, "permissions for cluster-wide watches are missing", "configmaps in all namespaces", "pods in all namespaces")
		if !l.denies("list", "configmaps", "") || l.denies("create", "configmaps", "") {
			t.Error("the metrics do not say that list of configmaps, and no more, is denied in all namespaces")
		}
		w.grantEverywhere("reads", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps", "pods"}, Verbs: []string{"list", "watch"}})
		w.streamsAre(together...)
		w.says(l, 0, "permissions for cluster-wide watches are complete")
		if l.denies("list", "configmaps", "") {
			t.Error("the metrics say that list of configmaps is denied in all namespaces")
		}
		w.resize(a, "x", 2)
		serves(w, "2")
		w.revokeEverywhere("reads")
		w.streamsAre(byNamespace...)
		w.resize(a, "x", 3)
		serves(w, "3")
		l.stop()
	})
}
