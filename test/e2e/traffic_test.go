package e2e

import (
	"context"
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/test/cluster"
)

// traffic makes and resizes owners in one namespace, one change at a time, and
// waits until each is served.
type traffic struct {
	*world
	namespace string

	// The goroutine of run owns what is below, while it runs.
	made    int
	turn    int              // of the next resize
	sizes   map[string]int64 // by owner
	resizes map[string]int   // how often, by owner
	slowest time.Duration
	err     error
}

// pace is how long after a change the next one is made.
const pace = 100 * time.Millisecond

// traffic begins with so many owners that they share their streams.
func (s *scope) traffic(namespace string) *traffic {
	t := &traffic{world: s.world, namespace: namespace, sizes: map[string]int64{}, resizes: map[string]int{}}
	for range 5 {
		if err := t.create(s.t.Context()); err != nil {
			s.t.Fatal(err)
		}
	}
	return t
}

// run goes on until ctx ends, or a change is not served.
func (t *traffic) run(ctx context.Context) {
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := 0; t.err == nil; i++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		do := t.resizeNext
		if i%10 == 9 {
			do = t.create
		}
		start := time.Now()
		// A change that was begun is seen through.
		t.err = do(context.WithoutCancel(ctx))
		t.slowest = max(t.slowest, time.Since(start))
	}
}

func (t *traffic) create(ctx context.Context) error {
	name := fmt.Sprintf("cache-%d", t.made)
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(0)},
	}}
	if _, err := t.objects.Resource(memcacheds).Namespace(t.namespace).Create(ctx, owner, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating owner %q: %w", name, err)
	}
	t.made++
	t.sizes[name] = 0
	return t.served(ctx, name)
}

func (t *traffic) resizeNext(ctx context.Context) error {
	name := fmt.Sprintf("cache-%d", t.turn%t.made)
	t.turn++
	t.sizes[name] = 1 - t.sizes[name]
	patch := fmt.Sprintf(`{"spec":{"size":%d}}`, t.sizes[name])
	if _, err := t.objects.Resource(memcacheds).Namespace(t.namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("resizing owner %q: %w", name, err)
	}
	t.resizes[name]++
	return t.served(ctx, name)
}

// served waits until the Deployment has the owner's size.
func (t *traffic) served(ctx context.Context, name string) error {
	err := wait.PollUntilContextTimeout(ctx, 10*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		d, err := t.typed.AppsV1().Deployments(t.namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return err == nil && int64(*d.Spec.Replicas) == t.sizes[name], err
	})
	if err != nil {
		return fmt.Errorf("%s/%s was not served at size %d: %w", t.namespace, name, t.sizes[name], err)
	}
	return nil
}

// check compares the writes of Deployments in the audit log with the changes of
// owners: as many of each.
func (t *traffic) check(mark cluster.Mark) {
	t.t.Helper()
	if t.err != nil {
		t.t.Error(t.err)
		return
	}
	t.allReady([]string{t.namespace}, t.made)
	// A write may come to the log after its effect.
	t.eventually("the audit log has a write for each change", func(context.Context) error {
		creates, changes := t.writes(mark)
		if creates < t.made || sum(changes) < sum(t.resizes) {
			return fmt.Errorf("%d Deployments were created for %d owners, and %d changed for %d resizes", creates, t.made, sum(changes), sum(t.resizes))
		}
		return nil
	})
	creates, changes := t.writes(mark)
	if diff := cmp.Diff(t.resizes, changes); diff != "" {
		t.t.Errorf("namespace %s: changes of Deployments (-resizes of owners +writes):\n%s", t.namespace, diff)
	}
	if creates != t.made {
		t.t.Errorf("namespace %s: %d Deployments were created for %d owners", t.namespace, creates, t.made)
	}
	t.t.Logf("namespace %s: %d owners, %d resizes, the slowest was served after %s", t.namespace, t.made, sum(t.resizes), t.slowest)
}

// writes counts the writes of Deployments that were accepted: creates, and changes by name.
func (t *traffic) writes(mark cluster.Mark) (creates int, changes map[string]int) {
	t.t.Helper()
	changes = map[string]int{}
	for _, r := range t.since(mark, func(r cluster.Request) bool {
		return r.Namespace == t.namespace && r.Resource == "deployments" && r.IsWrite() && r.Code < 300
	}) {
		if r.Verb == "create" {
			creates++
			continue
		}
		changes[r.Name]++
	}
	return creates, changes
}

func sum(counts map[string]int) int {
	total := 0
	for _, n := range counts {
		total += n
	}
	return total
}
