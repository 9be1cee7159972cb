package e2e

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

const (
	kindsTimes  = 2
	kindsOwners = 3 // in each namespace
)

var kindsBoxes = schema.GroupVersionResource{Group: "kinds.example.com", Version: "v1", Resource: "boxes"}

// kindsPolicy keeps a Box and a ConfigMap for each owner.
const kindsPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: boxes}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: box
      template:
        apiVersion: kinds.example.com/v1
        kind: Box
        metadata: {name: "${owner.metadata.name}"}
        spec: {size: "${owner.spec.size}"}
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {text: "size is ${owner.spec.size}"}
`

// TestKindComesAndGoes: the kind of a child is deleted, with all its objects, and
// made again, three times. Each time the work resumes; what does not need the kind goes on
// meanwhile; and nothing is left behind. How soon it resumes, and many times, are held in virtual
// time, by the test of this name in test/sim.
func TestKindComesAndGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "kinds")
	k := &kindStory{world: w}
	for range 2 {
		k.namespaces = append(k.namespaces, w.namespace(append(rightsOn("memcacheds", "memcacheds/status"), rightsTo(kindsBoxes.Group, "boxes"), rightsTo("", "configmaps"))...))
	}
	w.makeKind(kindsBoxes.Group, "boxes", "Box")
	l := w.launch(w.control.User(w.user), k.namespaces, program(t, "boxes.yaml", []byte(kindsPolicy)))
	k.each(func(namespace, name string) { w.createOwner(namespace, name, 1) })
	k.wait("the Boxes are made", func(ctx context.Context, namespace, name string) error { return k.boxed(ctx, namespace, name, 1) })

	k.cycle(2, true) // what the first time leaves for good is there after it
	k.ready()
	w.openStreams(k.streams())
	baseline, by := w.steadyGoroutines(l, "before the kind goes and comes")

	var took []time.Duration
	for i := range kindsTimes {
		// Every other time the kind is back before anybody may have seen it gone.
		took = append(took, k.cycle(int64(3+i), i%2 == 0))
	}
	t.Logf("from Established until all owners had their Box: %v", took)
	k.ready()
	w.openStreams(k.streams())
	w.goroutinesAtMost(l, "after the kind went and came", baseline, by)
}

type kindStory struct {
	*world
	namespaces []string
}

// cycle deletes the kind, changes the owners, makes the kind again, and returns
// how long it took from Established until all owners had their Box, as wanted.
func (k *kindStory) cycle(size int64, seen bool) time.Duration {
	k.t.Helper()
	k.deleteKind(kindsBoxes.Group, "boxes")
	if seen {
		k.each(func(namespace, name string) {
			k.condition(namespace, name, v1alpha1.ConditionReady, "False", v1alpha1.ReasonKindMissing)
		})
	}
	k.each(func(namespace, name string) { k.resize(namespace, name, size) })
	if seen {
		k.each(func(namespace, name string) { k.configMapSays(namespace, name, fmt.Sprintf("size is %d", size)) })
	}
	established := k.makeBoxes()
	k.wait("the Boxes are as wanted", func(ctx context.Context, namespace, name string) error {
		return k.boxed(ctx, namespace, name, size)
	})
	return time.Since(established).Round(time.Millisecond)
}

// makeBoxes makes the kind and returns when it was Established, at most 10 ms
// late.
func (k *kindStory) makeBoxes() time.Time {
	k.t.Helper()
	established := make(chan time.Time, 1)
	ctx, cancel := context.WithTimeout(k.t.Context(), patience)
	defer cancel()
	go func() {
		defer close(established)
		for flapWait(ctx, 10*time.Millisecond) == nil {
			crd, err := k.objects.Resource(crdResource).Get(ctx, "boxes."+kindsBoxes.Group, metav1.GetOptions{})
			if err != nil {
				continue
			}
			if c := conditionOf(crd, "Established"); c != nil && c["status"] == "True" {
				established <- time.Now()
				return
			}
		}
	}()
	if err := k.control.Apply(ctx, simpleCRD(kindsBoxes.Group, "boxes", "Box")); err != nil {
		k.t.Fatal(err)
	}
	at, ok := <-established
	if !ok {
		k.t.Fatal("the kind was never Established")
	}
	return at
}

func (k *kindStory) each(do func(namespace, name string)) {
	k.t.Helper()
	for _, namespace := range k.namespaces {
		for i := range kindsOwners {
			do(namespace, fmt.Sprintf("a-%d", i))
		}
	}
}

func (k *kindStory) wait(what string, check func(ctx context.Context, namespace, name string) error) {
	k.t.Helper()
	k.each(func(namespace, name string) {
		k.eventually(what, func(ctx context.Context) error { return check(ctx, namespace, name) })
	})
}

// boxed returns nil if the owner has its Box, of this size.
func (k *kindStory) boxed(ctx context.Context, namespace, name string, size int64) error {
	owner, err := k.owner(ctx, namespace, name)
	if err != nil {
		return err
	}
	box, err := k.objects.Resource(kindsBoxes).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	got, _, _ := unstructured.NestedInt64(box.Object, "spec", "size")
	if ref := metav1.GetControllerOf(box); got != size || ref == nil || ref.UID != owner.GetUID() {
		return fmt.Errorf("its size is %d, want %d; its controller is %v", got, size, ref)
	}
	return nil
}

// ready waits until all owners are Ready.
func (k *kindStory) ready() {
	k.t.Helper()
	k.each(func(namespace, name string) {
		k.observed(namespace, name)
		k.condition(namespace, name, v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	})
}

func (k *kindStory) streams() map[string]int {
	n := len(k.namespaces)
	return map[string]int{"memcacheds": n, "boxes": n, "configmaps": n}
}
