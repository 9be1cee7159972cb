package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// unseen makes a ConfigMap for each that it finds in other namespaces.
const unseen = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: unseen, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: copies
      forEach: {as: found, in: all}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-${found.metadata.namespace}"}
  watches:
    - {id: all, apiVersion: v1, kind: ConfigMap, namespace: "*", selector: {matchLabels: {unseen: x}}}
`

// listingNamespaces is the right to see which namespaces there are.
var listingNamespaces = rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}}

// TestUnknownNamespaces: as long as it is not known in which namespaces a watch of all has
// to look, it has not found nothing: after a restart, and when the namespaces may not
// be listed any more, no child goes.
func TestUnknownNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "unseen")
	home, there := w.namespace(append(homeRights(), rightsTo("", "configmaps"))...), w.namespace(rightsTo("", "configmaps"))
	w.grantEverywhere("namespaces", listingNamespaces)
	w.decided("", true, listingNamespaces)
	w.decided(there, true, rightsTo("", "configmaps"))
	w.applyText("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s, labels: {unseen: x}}\n", "found", there)
	stop := w.run(nil, program(t, "unseen.yaml", []byte(unseen)))
	w.createOwner(home, "x", 1)
	w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
	w.copyIs(home, "x-"+there)

	mark := w.control.Audit().Mark()
	for range 3 {
		stop()
		stop = w.run(nil, program(t, "unseen.yaml", []byte(unseen)))
		next := fmt.Sprintf("y%d", time.Now().UnixNano())
		w.createOwner(home, next, 1)
		w.copyIs(home, next+"-"+there) // so all namespaces were seen
		w.copyIs(home, "x-"+there)
	}
	w.revokeEverywhere("namespaces")
	w.condition(home, "x", v1alpha1.ConditionReady, "False", v1alpha1.ReasonForbidden)
	w.copyIs(home, "x-"+there)
	w.none(mark, "a deletion", func(r cluster.Request) bool { return r.Verb == "delete" })
}

// copyIs waits until a ConfigMap is there.
func (w *world) copyIs(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("ConfigMap %s/%s is there", namespace, name), func(ctx context.Context) error {
		_, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		return err
	})
}

// TestTerminatingNamespace: a namespace that is being deleted is in the scope as before:
// an owner in it is protected, and cleaned up after when it no longer is.
func TestTerminatingNamespace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "terminating")
	all := append(homeRights(), rightsTo("", "configmaps"), listingNamespaces)
	w.grantEverywhere("all", all...)
	w.decided("", true, all...)
	home, there := w.namespace(), w.namespace()
	w.labelNamespace(home, `{"terminating-story":"yes"}`)
	w.run(nil, copies(t, "  scope: {namespaceSelector: {matchLabels: {terminating-story: \"yes\"}}}\n"+
		"  protect: {while: owner.spec.size < 2}\n"))
	w.copiesTo(home, "x", there)
	w.copyHas(there, "x", "1")
	w.condition(home, "x", v1alpha1.ConditionReady, "True", "")

	mark := w.control.Audit().Mark()
	if err := w.typed.CoreV1().Namespaces().Delete(t.Context(), home, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.condition(home, "x", v1alpha1.ConditionReady, "False", v1alpha1.ReasonProtected)
	w.none(mark, "a deletion", func(r cluster.Request) bool { return r.Verb == "delete" })
	w.patchOwner(home, "x", `{"spec":{"size":2}}`)
	w.ownerGone(home, "x")
	w.noCopy(there, "x")
}

// TestFilterFails: an owner of which it cannot be said whether it is wanted keeps what it
// has; when it is found not to be, that goes.
func TestFilterFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "filter-fails")
	home := w.namespace(append(homeRights(), rightsTo("", "configmaps"))...)
	w.run([]string{home}, program(t, "filtered.yaml", []byte(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: filtered, namespace: ambit-system}
spec:
  owner:
    apiVersion: cache.example.com/v1alpha1
    kind: Memcached
    filter: "int(object.metadata.?annotations[?'n'].orValue('1')) > 0"
  children:
    - id: made
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}}
`)))
	w.streamsAre("memcacheds " + home) // the engine has begun
	began := time.Now()
	w.eventually("an owner is younger than the engine by its timestamp, which has seconds", func(context.Context) error {
		if past := time.Since(began); past < 2*time.Second {
			return fmt.Errorf("%v have passed", past)
		}
		return nil
	})
	w.createOwner(home, "x", 1)
	w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
	w.copyIs(home, "x")

	w.patchOwner(home, "x", `{"metadata":{"annotations":{"n":"x"}}}`)
	w.createOwner(home, "y", 1) // it is served after x was looked at
	w.condition(home, "y", v1alpha1.ConditionReady, "True", "")
	w.copyIs(home, "x")

	w.patchOwner(home, "x", `{"metadata":{"annotations":{"n":"0"}}}`)
	w.noCopy(home, "x")
	w.copyIs(home, "y")
}
