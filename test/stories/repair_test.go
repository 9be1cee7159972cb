package stories

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestLostLabels: a child whose Ambit labels somebody takes away is found by its
// name, and gets them back.
func TestLostLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "labels")
	namespace := w.namespace(memcachedRights()...)
	w.run([]string{namespace}, memcached(t))
	owner := w.createOwner(namespace, "cache", 1)
	w.condition(namespace, "cache", v1alpha1.ConditionReady, "True", "")
	for label, want := range map[string]string{v1alpha1.LabelPolicy: "ambit-system.memcached", v1alpha1.LabelOwnerUID: string(owner.GetUID())} {
		t.Run(label, func(t *testing.T) {
			before := w.deployment(namespace, "cache").UID
			w.patchDeployment(t, namespace, "cache", fmt.Sprintf(`{"metadata":{"labels":{%q:null}},"spec":{"replicas":4}}`, label))
			w.deploymentHas(namespace, "cache", 1)
			w.condition(namespace, "cache", v1alpha1.ConditionReady, "True", "")
			if d := w.deployment(namespace, "cache"); d.Labels[label] != want || d.UID != before {
				t.Errorf("label %s is %q, want %q; the Deployment is the same: %t", label, d.Labels[label], want, d.UID == before)
			}
		})
	}
}

// TestRefusedWritesAreNotRepeatedByEvents: while a write is refused, events do
// not repeat it; only its backoff does.
func TestRefusedWritesAreNotRepeatedByEvents(t *testing.T) {
	t.Parallel()
	const touches = 50
	w := newWorld(t, "refused")
	namespace := w.namespace(memcachedRights()...)
	w.foreignDeployment(t, namespace, "taken", foreignCase{})
	w.run([]string{namespace}, memcached(t))
	w.createOwner(namespace, "taken", 1)
	w.condition(namespace, "taken", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNameConflict)
	mark := w.control.Audit().Mark()
	for i := range touches {
		w.labelOwner(namespace, "taken", fmt.Sprint(i))
	}
	w.createOwner(namespace, "free", 0) // when this one is served, the touches were seen
	w.condition(namespace, "free", v1alpha1.ConditionReady, "True", "")
	requests, err := w.control.Audit().Since(mark, w.user)
	if err != nil {
		t.Fatal(err)
	}
	creates := 0
	for _, r := range requests {
		if r.Verb == "create" && r.Name == "taken" {
			creates++
		}
	}
	if creates > 8 { // the backoff doubles from 0.2 s: at most 8 in half a minute
		t.Errorf("%d touches led to %d attempts to create what is taken", touches, creates)
	}
}

// TestForeignObjectGoesAway: when what is in the way is gone, the child is made,
// without anybody touching the owner.
func TestForeignObjectGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "goes")
	namespace := w.namespace(memcachedRights()...)
	w.foreignDeployment(t, namespace, "taken", foreignCase{})
	w.run([]string{namespace}, memcached(t))
	w.createOwner(namespace, "taken", 1)
	w.condition(namespace, "taken", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonNameConflict)
	if err := w.typed.AppsV1().Deployments(namespace).Delete(t.Context(), "taken", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	w.deploymentHas(namespace, "taken", 1)
	w.condition(namespace, "taken", v1alpha1.ConditionReady, "True", "")
}

// TestOwnerWithoutStatus: an owner whose kind has no status is served, and then
// left in peace.
func TestOwnerWithoutStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "statusless")
	rules := configRights()
	rules.Resources = append(rules.Resources, "configmaps/status")
	namespace := w.namespace(rules)
	w.run([]string{namespace}, program(t, "statusless.yaml", read(t, "testdata/statusless.yaml")))
	mark := w.control.Audit().Mark()
	// The first owner opens the streams, and if their lists are late it has that to say too.
	for _, owner := range []struct {
		name string
		says int
	}{{"first", 2}, {"source", 1}} {
		source := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: owner.name, Labels: map[string]string{"copy": "yes"}}, Data: map[string]string{"text": "hello"}}
		if _, err := w.typed.CoreV1().ConfigMaps(namespace).Create(t.Context(), source, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		w.configMapSays(namespace, owner.name+"-copy", "hello")
		w.settledSince(mark)
		statuses := w.since(mark, func(r cluster.Request) bool { return r.Subresource == "status" && r.Name == owner.name })
		if len(statuses) > owner.says {
			t.Errorf("%d attempts to write a status of %s that does not exist", len(statuses), owner.name)
		}
	}
}

// TestRestartKeepsTheStatus: with streams that sync slowly, a restarted Ambit
// does not say of a healthy owner what it cannot see yet.
func TestRestartKeepsTheStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "restart")
	namespace := w.namespace(memcachedRights()...)
	stop := w.run([]string{namespace}, memcached(t))
	for i := range 3 {
		w.createOwner(namespace, fmt.Sprintf("cache-%d", i), 1)
	}
	w.allReady([]string{namespace}, 3)
	w.settled()
	stop()
	mark := w.control.Audit().Mark()
	w.run([]string{namespace}, memcached(t))
	w.openStreams(map[string]int{"memcacheds": 1, "deployments": 1, "pods": 3})
	w.settledSince(mark)
	w.noRequests(mark, "after a restart", func(r cluster.Request) bool { return r.IsWrite() && !isSelfReview(r) })
}

func (w *world) labelOwner(namespace, name, value string) {
	w.t.Helper()
	owner, err := w.owner(w.t.Context(), namespace, name)
	if err != nil {
		w.t.Fatal(err)
	}
	owner.SetLabels(map[string]string{"touched": value})
	if _, err := w.objects.Resource(memcacheds).Namespace(namespace).Update(w.t.Context(), owner, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// TestStatusOfTheWrongType: a status that the owner's schema does not allow does
// not keep Ambit from saying so.
func TestStatusOfTheWrongType(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "badstatus")
	namespace := w.namespace(memcachedRights()...)
	w.run([]string{namespace}, program(t, "badstatus.yaml", read(t, "testdata/badstatus.yaml")))
	w.createOwner(namespace, "a", 1)
	message := w.condition(namespace, "a", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonInvalid)
	if !strings.Contains(message, "status.nodes") {
		t.Errorf("message %q does not name the field", message)
	}
	w.settled()
	w.resize(namespace, "a", 2)
	w.condition(namespace, "a", v1alpha1.ConditionReady, "True", "")
}
