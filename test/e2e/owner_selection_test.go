package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// selectionUsers are the identities of the stories about which owners are selected, and
// how their streams are laid out.
func selectionUsers() []string {
	return []string{"selection", "selection-field", "informers"}
}

// chosen makes a ConfigMap beside each Memcached that is selected.
func chosen(t *testing.T, selection string) *policy.Program {
	t.Helper()
	return program(t, "chosen.yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: chosen, namespace: ambit-system}
spec:
  owner:
    apiVersion: cache.example.com/v1alpha1
    kind: Memcached
    %s
  children:
    - id: here
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {size: "${string(owner.spec.size)}"}
`, selection))
}

func chosenRights() []rbacv1.PolicyRule {
	return append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))
}

const (
	pick   = `{"metadata":{"labels":{"pick":"yes"}}}`
	unpick = `{"metadata":{"labels":{"pick":"no"}}}`
)

// picked makes an owner with the label.
func (w *world) picked(namespace, name string) {
	w.t.Helper()
	w.createOwner(namespace, name, 1)
	w.patchOwner(namespace, name, pick)
	w.copyHas(namespace, name, "1")
}

// isByName says whether a request is for a single owner by its name.
func isByName(r cluster.Request) bool {
	return r.Resource == "memcacheds" && r.Subresource == "" && (r.Verb == "get" || strings.Contains(r.URI, "fieldSelector=metadata.name"))
}

// TestOwnerSelection: the API server selects the owners by label. One that is no longer
// selected is told apart from one that was deleted: what was made for it goes, also where
// that happened while Ambit was away.
func TestOwnerSelection(t *testing.T) {
	t.Parallel()
	newWorld(t, "selection").selects(chosen(t, "selector: {matchLabels: {pick: 'yes'}}"))
}

func (w *world) selects(p *policy.Program) {
	t, home := w.t, w.namespace(chosenRights()...)
	w.decided(home, true, chosenRights()...)
	l := w.launch(w.control.User(w.user), []string{home}, p)
	w.picked(home, "x")
	w.picked(home, "y")
	w.streamsAre("memcacheds "+home, "configmaps "+home)
	t.Run("NoLongerSelected", func(t *testing.T) {
		w := w.in(t)
		w.patchOwner(home, "x", unpick)
		w.noCopy(home, "x")
		w.copyHas(home, "y", "1")
		w.streamsAre("memcacheds "+home, "configmaps "+home)
	})
	t.Run("SelectedAgain", func(t *testing.T) {
		w := w.in(t)
		w.patchOwner(home, "x", pick)
		w.copyHas(home, "x", "1")
	})
	t.Run("Deleted", func(t *testing.T) {
		w := w.in(t)
		w.picked(home, "z")
		w.fares(l, "ambit-system/chosen", map[string]float64{"ready": 3})
		mark := w.settled()
		release := w.holdObject(w.objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(home), "z")
		w.deleteOwner(home, "z")
		w.fares(l, "ambit-system/chosen", map[string]float64{"ready": 2})
		release() // not before: of two streams either may be ahead
		w.noCopy(home, "z")
		w.settled()
		w.noRequests(mark, "after a deletion", func(r cluster.Request) bool { return isStoryWrite(r) && r.Resource == "configmaps" })
		w.streamsAre("memcacheds "+home, "configmaps "+home)
		if n := len(w.since(mark, func(r cluster.Request) bool { return isByName(r) && r.IsWatchOpened() })); n > 1 {
			t.Errorf("%d watches by name for one deleted owner", n)
		}
	})
	t.Run("WhileAmbitIsAway", func(t *testing.T) {
		w := w.in(t)
		l.stop()
		w.patchOwner(home, "x", unpick)
		l = w.launch(w.control.User(w.user), []string{home}, p)
		w.noCopy(home, "x")
		w.copyHas(home, "y", "1")
		w.streamsAre("memcacheds "+home, "configmaps "+home)
		w.patchOwner(home, "x", pick)
		w.copyHas(home, "x", "1")
		l.stop()
	})
}

// TestOwnerSelectionByField: the same for a field that the API server selects by, of
// owners whose status belongs to others. Metrics say how these fare.
func TestOwnerSelectionByField(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "selection-field")
	rules := []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}}, rightsTo("", "configmaps")}
	home := w.namespace(rules...)
	w.decided(home, true, rules...)
	p := program(t, "pending.yaml", []byte(`
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: pending, namespace: ambit-system}
spec:
  owner: {apiVersion: v1, kind: Pod, filter: "object.status.phase == 'Pending'"}
  children:
    - id: here
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {size: "1"}
`))
	l := w.launch(w.control.User(w.user), []string{home}, p)
	w.idlePod(home, "x")
	w.copyHas(home, "x", "1")
	w.fares(l, "ambit-system/pending", map[string]float64{"ready": 1})
	taken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "y"}}
	if _, err := w.typed.CoreV1().ConfigMaps(home).Create(t.Context(), taken, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.idlePod(home, "y")
	w.fares(l, "ambit-system/pending", map[string]float64{"ready": 1, "stalled": 1})
	done := []byte(`{"status":{"phase":"Succeeded"}}`)
	if _, err := w.typed.CoreV1().Pods(home).Patch(t.Context(), "x", types.MergePatchType, done, metav1.PatchOptions{}, "status"); err != nil {
		t.Fatal(err)
	}
	w.noCopy(home, "x")
	w.fares(l, "ambit-system/pending", map[string]float64{"stalled": 1})
	l.stop()
}

// idlePod makes a Pod that nobody runs.
func (w *world) idlePod(namespace, name string) {
	w.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "it", Image: "it"}}},
	}
	if _, err := w.typed.CoreV1().Pods(namespace).Create(w.t.Context(), pod, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making Pod %s/%s: %v", namespace, name, err)
	}
}

// fares waits until the metrics say how many owners of a policy are in which state; of
// the states that are not named: none.
func (w *world) fares(l *launched, policy string, want map[string]float64) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("owners of %s are %v", policy, want), func(context.Context) error {
		for _, state := range []string{"ready", "progressing", "stalled"} {
			if n := l.metric("ambit_owners", map[string]string{"policy": policy, "state": state}); n != want[state] {
				return fmt.Errorf("%g are %s", n, state)
			}
		}
		return nil
	})
}
