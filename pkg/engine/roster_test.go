package engine

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/watch"
)

// TestNamespacesThatCameAndWent: of namespaces that are watched together nothing stays when
// their last owner has gone; that one which is watched by itself had owners is remembered.
func TestNamespacesThatCameAndWent(t *testing.T) {
	e := idle(t, clocktesting.NewFakeClock(time.Unix(1000, 0)), compiled(t, "a", "1", ""))
	op := e.versions.get("ambit-system/a")
	live := func(stream, namespace string) {
		name := types.NamespacedName{Namespace: namespace, Name: "x"}
		owner := &unstructured.Unstructured{}
		owner.SetNamespace(name.Namespace)
		owner.SetName(name.Name)
		event := watch.Event{Key: watch.Key{Namespace: stream}, Type: watch.Added, Object: owner}
		op.Changed(event)
		if _, ok := op.state(name, "uid", watch.View{}); !ok {
			t.Fatal("the owner has no state")
		}
		if key := (watch.Key{Namespace: namespace}); !op.isUnswept(key) || op.isUnswept(key) {
			t.Error("a stream is swept once as long as there are owners")
		}
		event.Type = watch.Deleted
		op.Changed(event)
		op.forget(name)
	}
	for i := range 100 {
		live(allNamespaces, fmt.Sprint("n-", i))
	}
	if len(op.served)+len(op.swept)+len(op.members)+len(op.busy)+len(op.owners) > 0 {
		t.Errorf("of 100 namespaces that are gone, served: %d, swept: %d, members: %d, busy: %d, owners: %d",
			len(op.served), len(op.swept), len(op.members), len(op.busy), len(op.owners))
	}
	live("one", "one")
	if !op.served["one"] {
		t.Error("that nothing may be seen there any more would not be told")
	}
}
