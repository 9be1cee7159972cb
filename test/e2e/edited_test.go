package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// editedChildren are those that the policy has before and after the edit: as many as it
// takes for a pass to end between two windows of places.
const editedChildren = `
    - id: one
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-one"}}
    - id: two
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-two"}}
    - id: three
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-three"}}
`

// editedPolicy is copies with editedChildren, after the child with the copies was dropped.
const editedPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: copies, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:` + editedChildren

// TestEditedPolicy: a child is dropped from the policy while Ambit is away, which had
// objects in many namespaces; one owner lives, one is deleted. Nothing but the records says
// where the objects are, and few places of theirs are looked at together: nevertheless all
// objects go, and the marks of the owners, without anybody doing something.
func TestEditedPolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "edited-narrow")
	w.editsPolicy(40, func(namespace string) {
		w.grant(namespace, rightsTo("", "configmaps"))
		w.decided(namespace, true, rightsTo("", "configmaps"))
	})
}

// editsPolicy is the story with so many namespaces. grant gives the rights in one of them.
func (w *world) editsPolicy(namespaces int, grant func(namespace string)) {
	w.t.Helper()
	home := w.namespace(append(homeRights(), rightsTo("", "configmaps"))...)
	w.decided(home, true, rightsTo("", "configmaps"))
	var targets []string
	for range namespaces {
		targets = append(targets, w.namespace())
		grant(targets[len(targets)-1])
	}
	stop := w.run([]string{home}, copies(w.t, editedChildren))
	for _, name := range []string{"lives", "deleted"} {
		w.copiesTo(home, name, targets...)
		for _, target := range targets {
			w.copyHas(target, name, "1")
		}
	}
	stop()
	if err := w.objects.Resource(memcacheds).Namespace(home).Delete(w.t.Context(), "deleted", metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	w.run([]string{home}, program(w.t, "edited.yaml", []byte(editedPolicy)))
	for _, name := range []string{"lives", "deleted"} {
		w.copiesAre(name, 0, targets)
	}
	w.ownerUnmarked(home, "lives")
	w.ownerGone(home, "deleted")
}

// copiesAre waits until there are so many copies of a name in these namespaces.
func (w *world) copiesAre(name string, want int, namespaces []string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%d copies of %s are there", want, name), func(ctx context.Context) error {
		list, err := w.typed.CoreV1().ConfigMaps("").List(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
		if err != nil {
			return err
		}
		in := " " + strings.Join(namespaces, " ") + " "
		got := 0
		for _, copied := range list.Items {
			if strings.Contains(in, " "+copied.Namespace+" ") {
				got++
			}
		}
		if got != want {
			return fmt.Errorf("there are %d", got)
		}
		return nil
	})
}
