package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestElsewhere: children in other namespaces have streams and rights of their own
// there. A right that is taken away in one place stops the work in that place, and is
// told to those that need it there.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "elsewhere")
	home, b, c := w.namespace(homeRights()...), w.namespace(rightsTo("", "configmaps")), w.namespace(rightsTo("", "configmaps"))
	w.decided(c, true, rightsTo("", "configmaps"))
	a := w.runMeasured([]string{home}, copies(t, ""))
	w.copiesTo(home, "both", b, c)
	w.copiesTo(home, "one", b)
	w.copyHas(b, "both", "1")
	w.copyHas(c, "both", "1")
	w.condition(home, "both", v1alpha1.ConditionReady, "True", "")
	w.streamsAre("memcacheds "+home, "configmaps "+b, "configmaps "+c)

	t.Run("ARightIsTakenInOnePlace", func(t *testing.T) {
		w := w.in(t)
		w.unbind(c)
		message := w.condition(home, "both", v1alpha1.ConditionPermitted, "False", v1alpha1.ReasonForbidden)
		if !strings.Contains(message, `configmaps in namespace "`+c+`"`) {
			t.Errorf("message %q does not name the place", message)
		}
		w.streamsAre("memcacheds "+home, "configmaps "+b)
		w.deniesOnly(a, b)
		w.patchOwner(home, "one", `{"spec":{"size":2}}`)
		w.copyHas(b, "one", "2")
		w.condition(home, "one", v1alpha1.ConditionPermitted, "True", "")
		w.condition(home, "one", v1alpha1.ConditionReady, "True", "")
	})
	t.Run("AndGivenBack", func(t *testing.T) {
		w := w.in(t)
		w.patchOwner(home, "both", `{"spec":{"size":3}}`)
		w.copyHas(b, "both", "3")
		w.bind(c)
		w.copyHas(c, "both", "3")
		w.condition(home, "both", v1alpha1.ConditionReady, "True", "")
		w.condition(home, "both", v1alpha1.ConditionPermitted, "True", "")
		w.deniesOnly(a, c)
	})
	t.Run("APlaceIsNoLongerWanted", func(t *testing.T) {
		w := w.in(t)
		w.patchOwner(home, "both", `{"metadata":{"annotations":{"copies":"`+b+`"}}}`)
		w.noCopy(c, "both")
		w.streamsAre("memcacheds "+home, "configmaps "+b)
	})
	t.Run("AfterARestartNothingIsWritten", func(t *testing.T) {
		w := w.in(t)
		// The stream of the place is closed before the owner's record and status say that it is
		// no longer wanted.
		mark := w.settled()
		a.stop()
		a = a.in(t).runMeasured([]string{home}, copies(t, ""))
		w.streamsAre("memcacheds "+home, "configmaps "+b)
		w.settledSince(mark)
		w.noRequests(mark, "after a restart", isStoryWrite)
		mark = w.control.Audit().Mark()
		w.deleteOwner(home, "one")
		w.noCopy(b, "one")
		w.ownerGone(home, "one")
		w.settledSince(mark)
		w.noRequests(mark, "that comes too late", func(r cluster.Request) bool { return isStoryWrite(r) && r.Code == 404 })
		w.deleteOwner(home, "both")
		w.noCopy(b, "both")
		w.ownerGone(home, "both")
		w.streamsAre("memcacheds " + home)
		a.stop()
	})
}

// seen is a policy that counts ConfigMaps with a label wherever it may, and reads one
// by its name.
const seen = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: seen, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  watches:
    - {id: all, apiVersion: v1, kind: ConfigMap, namespace: "*", selector: {matchLabels: {seen: "${owner.metadata.name}"}}}
    - {id: one, apiVersion: v1, kind: ConfigMap, name: "${owner.metadata.name}-one"}
    - {id: field, apiVersion: v1, kind: ConfigMap, fieldSelector: "metadata.name=${owner.metadata.name}-field"}
  status:
    nodes: "${(all + one + field).map(c, c.metadata.namespace + '/' + c.metadata.name).sort()}"
`

// TestSeenEverywhere: a watch of all namespaces shows those in which it is permitted,
// and follows that; a watch by name shows just that object.
func TestSeenEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "seen")
	reading := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch"}}
	home, b, c := w.namespace(append(rightsOn("memcacheds", "memcacheds/status"), reading)...), w.namespace(reading), w.namespace()
	w.decided(b, true, reading)
	labelled := "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s, labels: {seen: x}}\n"
	for _, namespace := range []string{b, c} {
		w.applyText(labelled, "found", namespace)
	}
	w.applyText("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", "x-one", home)
	w.applyText("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: %s}\n", "x-field", home)
	w.run([]string{home, b, c}, program(t, "seen.yaml", []byte(seen)))
	w.createOwner(home, "x", 1)
	w.nodes(home, "x", b+"/found", home+"/x-field", home+"/x-one")
	w.condition(home, "x", v1alpha1.ConditionPermitted, "True", "")

	w.grant(c, reading)
	w.nodes(home, "x", b+"/found", c+"/found", home+"/x-field", home+"/x-one")
	w.unbind(b)
	w.nodes(home, "x", c+"/found", home+"/x-field", home+"/x-one")
	w.condition(home, "x", v1alpha1.ConditionPermitted, "True", "")
}

func (w *world) applyText(text string, parts ...any) {
	w.t.Helper()
	if err := w.control.Apply(w.t.Context(), fmt.Appendf(nil, text, parts...)); err != nil {
		w.t.Fatal(err)
	}
}

// nodes waits until the owner's status names these.
func (w *world) nodes(namespace, name string, want ...string) {
	w.t.Helper()
	want = slices.Sorted(slices.Values(want))
	w.eventually(fmt.Sprintf("the status of %s/%s names %q", namespace, name, want), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		got, _, _ := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
		if !slices.Equal(got, want) {
			return fmt.Errorf("it has %q, and conditions %v", got, owner.Object["status"])
		}
		return nil
	})
}
