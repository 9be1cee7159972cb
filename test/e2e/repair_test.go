package e2e

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

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

func (w *world) labelOwner(namespace, name, value string) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"metadata":{"labels":{"touched":%q}}}`, value)
	if _, err := w.objects.Resource(memcacheds).Namespace(namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
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
