package e2e

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// behaviourUsers are the identities of the stories in which somebody works against Ambit, or the
// policy against itself.
func behaviourUsers() []string {
	return []string{"fight", "unstable", "followed", "overlap", "stripped"}
}

const (
	// fightWindow is the first part of a fight, and fightWrites is how many writes Ambit may send
	// in it.
	fightWindow = 20 * time.Second
	fightWrites = 30
	// adversaryManager is the field manager of who undoes what Ambit writes.
	adversaryManager = "other-controller"
)

// fightPolicy wants one ConfigMap for each Memcached.
const fightPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: fight}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}, data: {text: "size ${string(owner.spec.size)}"}}
`

// TestChildContested: another writer undoes every write of a child at once, with a value that
// alternates. Ambit answers more and more rarely, and says who does what to which field, on the
// owner, once in the log and in one Event. A change of the owner gets through all the same.
func TestChildContested(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fight")
	rights := append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"),
		rbacv1.PolicyRule{APIGroups: []string{"events.k8s.io"}, Resources: []string{"events"}, Verbs: []string{"create", "patch"}})
	namespace := w.namespace(rights...)
	w.decided(namespace, true, rights...)
	l := w.launch(w.control.User(w.user), []string{namespace}, program(t, "fight.yaml", []byte(fightPolicy)))
	w.createOwner(namespace, "x", 1)
	w.configMapSays(namespace, "x", "size 1")
	w.condition(namespace, "x", v1alpha1.ConditionReady, "True", "")
	mark := w.control.Audit().Mark()
	w.undo(namespace, "x")

	w.patiently(fightWindow)
	w.fewWrites(mark, namespace)

	message := w.condition(namespace, "x", v1alpha1.ConditionStalled, "True", v1alpha1.ReasonContested)
	w.names(message, `ConfigMap "x"`, "data.text", adversaryManager)
	w.says(l, 0, "another writer keeps undoing what is written to a child; backing off", adversaryManager, "data.text")
	w.eventually("an Event says it", func(ctx context.Context) error {
		return w.fightEvents(ctx, namespace, 1)
	})
	w.resize(namespace, "x", 7)
	w.eventuallyWithin(contestPatience, "what the owner wants now is written", func(ctx context.Context) error {
		return w.undoneLast(ctx, namespace, "x", "size 7")
	})
	if err := w.fightEvents(t.Context(), namespace, 1); err != nil {
		t.Error(err)
	}
}

// fewWrites fails the test if Ambit has written the children in a namespace too often since, by
// the API server's own clock.
func (w *world) fewWrites(mark cluster.Mark, namespace string) {
	w.t.Helper()
	requests := w.since(mark, func(r cluster.Request) bool {
		return r.Namespace == namespace && r.Resource == "configmaps" && r.IsWrite()
	})
	if len(requests) == 0 {
		w.t.Fatal("Ambit has not answered at all")
	}
	early := 0
	for _, r := range requests {
		if r.Time.Sub(requests[0].Time) <= fightWindow {
			early++
		}
	}
	w.t.Logf("%d writes of the child in the first %s of the fight", early, fightWindow)
	if early > fightWrites {
		w.t.Errorf("Ambit has written the child %d times in %s, want at most %d", early, fightWindow, fightWrites)
	}
}

// undoneLast returns an error unless this is what the adversary has undone last.
func (w *world) undoneLast(ctx context.Context, namespace, name, want string) error {
	child, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
	if err == nil && child.Annotations["undone"] != want {
		err = fmt.Errorf("it is %q", child.Annotations["undone"])
	}
	return err
}

// fightEvents returns an error unless there are so many Events of the fight.
func (w *world) fightEvents(ctx context.Context, namespace string, want int) error {
	list, err := w.typed.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	n := 0
	for _, e := range list.Items {
		if e.Reason == v1alpha1.ReasonContested && e.Regarding.Kind == "Memcached" && e.Type == corev1.EventTypeWarning && e.Series == nil {
			n++
		}
	}
	if n != want {
		return fmt.Errorf("%d Events, want %d: %+v", n, want, list.Items)
	}
	return nil
}

// undo changes a ConfigMap whenever somebody else has, until the test ends. It writes two values
// in turn, and notes in an annotation what it has undone.
func (w *world) undo(namespace, name string) {
	w.t.Helper()
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	maps := w.typed.CoreV1().ConfigMaps(namespace)
	events, err := maps.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		w.t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		undone := 0
		for event := range events.ResultChan() {
			child, ok := event.Object.(*corev1.ConfigMap)
			if !ok || event.Type == watch.Deleted || child.Data["text"] == "red" || child.Data["text"] == "blue" {
				continue
			}
			undone++
			patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"undone":%q}},"data":{"text":%q}}`, child.Data["text"], []string{"red", "blue"}[undone%2])
			if _, err := maps.Patch(ctx, name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: adversaryManager}); err != nil && ctx.Err() == nil && !apierrors.IsNotFound(err) {
				done <- err
				return
			}
		}
		done <- nil
	}()
	w.t.Cleanup(func() {
		stop()
		events.Stop()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Errorf("undoing what Ambit writes: %v", err)
		}
	})
}
