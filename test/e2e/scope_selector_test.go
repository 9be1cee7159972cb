package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestScopeSelector: a policy serves the namespaces with a label, and follows it: where
// it is taken away, what the policy has made goes, and the owner stays.
func TestScopeSelector(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "scope-selector")
	rights := append(homeRights(), rightsTo("", "configmaps"))
	a, b := w.namespace(rights...), w.namespace(rights...)
	listing := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}}
	w.grantEverywhere("namespaces", listing)
	w.decided("", true, listing)
	w.labelNamespace(a, `{"scope-story":"yes"}`)
	w.run(nil, copies(t, "  scope: {namespaceSelector: {matchLabels: {scope-story: \"yes\"}}}\n"))
	w.copiesTo(a, "x", a)
	w.copiesTo(b, "x", b)
	w.copyHas(a, "x", "1")
	w.streamsAre("namespaces *", "memcacheds "+a, "configmaps "+a)

	w.labelNamespace(b, `{"scope-story":"yes"}`)
	w.copyHas(b, "x", "1")
	w.labelNamespace(a, `{"scope-story":"no"}`)
	w.noCopy(a, "x")
	w.ownerUnmarked(a, "x")
	w.streamsAre("namespaces *", "memcacheds "+b, "configmaps "+b)
	w.condition(b, "x", v1alpha1.ConditionReady, "True", "")

	w.revokeEverywhere("namespaces")
	w.streamsAre("memcacheds "+b, "configmaps "+b)
	w.patchOwner(b, "x", `{"spec":{"size":4}}`)
	w.copyHas(b, "x", "4")
}

func (w *world) labelNamespace(name, labels string) {
	w.t.Helper()
	patch := fmt.Appendf(nil, `{"metadata":{"labels":%s}}`, labels)
	if _, err := w.typed.CoreV1().Namespaces().Patch(w.t.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		w.t.Fatalf("labelling namespace %q: %v", name, err)
	}
}

func (w *world) patchConfigMap(namespace, name, patch string) {
	w.t.Helper()
	if _, err := w.typed.CoreV1().ConfigMaps(namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.t.Fatalf("changing ConfigMap %s/%s: %v", namespace, name, err)
	}
}

// haltedFor waits until the metrics say that a policy cannot do its work, or a part of it,
// for a reason; empty: that it can.
func (w *world) haltedFor(a *ambit, reason string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the policy is held back for %q", reason), func(context.Context) error {
		families, err := a.metrics.Gather()
		if err != nil {
			return err
		}
		got := []string{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				for _, label := range m.GetLabel() {
					if family.GetName() == "ambit_policy_halted" && label.GetName() == "reason" {
						got = append(got, label.GetValue())
					}
				}
			}
		}
		if strings.Join(got, " ") != reason {
			return fmt.Errorf("it is for %q", got)
		}
		return nil
	})
}
