package e2e

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// liveUsers are the identities of the stories about policies that change while Ambit runs.
func liveUsers() []string {
	return []string{"live-edits", "live-scope", "live-add", "live-retire", "live-kind", "live-halted", "live-grows", "live-random", "live-account", "live-ensure"}
}

// live is Ambit with its engine at hand.
type live struct {
	*world
	engine *controller.Controller
	stop   func() // may be called more than once; the end of the test calls it
}

// live runs Ambit as the story's user, as run does, and returns when its engine is there.
func (w *world) live(namespaces []string, programs ...*policy.Program) *live {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	engines, done := make(chan *controller.Controller, 1), make(chan error, 1)
	go func() {
		done <- manager.Run(ctx, manager.Options{
			Config: w.control.User(w.user), Programs: programs, Namespaces: namespaces,
			Logger: testr.NewWithOptions(w.t, testr.Options{Verbosity: 0}),
			While: func(ctx context.Context, e *controller.Controller) {
				engines <- e
				<-ctx.Done()
			},
		})
	}()
	l, stopped := &live{world: w}, false
	l.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Errorf("running Ambit: %v", err)
		}
	}
	w.t.Cleanup(l.stop)
	select {
	case l.engine = <-engines:
	case err := <-done:
		stopped = true
		w.t.Fatalf("running Ambit: %v", err)
	}
	return l
}

// set makes the engine run these policies, and no others.
func (l *live) set(programs ...*policy.Program) {
	l.t.Helper()
	if err := l.engine.Set(programs, nil); err != nil {
		l.t.Fatal(err)
	}
}

// retire makes the engine retire a policy, and run no other.
func (l *live) retire(program *policy.Program) {
	l.t.Helper()
	if err := l.engine.Set(nil, []*policy.Program{program}); err != nil {
		l.t.Fatal(err)
	}
}

// isRetired waits until nothing is left of a policy, as far as the engine says.
func (l *live) isRetired(id string) {
	l.t.Helper()
	l.eventually("policy "+id+" is retired", func(context.Context) error {
		if left, done := l.engine.RetiredOf(id); !done {
			return fmt.Errorf("%d are left", left)
		}
		return nil
	})
}

// serves waits until a policy serves so many owners, all of which are ready.
func (l *live) serves(id string, owners int) {
	l.t.Helper()
	l.eventually(fmt.Sprintf("policy %s serves %d owners", id, owners), func(context.Context) error {
		for _, r := range l.engine.Reports() {
			if r.Policy == id && r.Serving && r.Owners.Ready == owners && r.Owners.Progressing+r.Owners.Stalled == 0 {
				return nil
			}
		}
		return fmt.Errorf("the reports are %+v", l.engine.Reports())
	})
}

// isOpening says whether a request opens a stream.
func isOpening(r cluster.Request) bool { return r.IsWatchOpened() || r.Verb == "list" }

// isReview says whether a request asks what is permitted.
func isReview(r cluster.Request) bool { return strings.HasPrefix(r.Resource, "selfsubject") }

// livePolicy is a policy for the Memcacheds with a label, with these children.
func livePolicy(t *testing.T, name, children string) *policy.Program {
	t.Helper()
	return program(t, name+".yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: ambit-system}
spec:
  owner:
    apiVersion: cache.example.com/v1alpha1
    kind: Memcached
    selector: {matchLabels: {team: %[1]s}}
  children:
%[2]s`, name, children))
}

// liveChild is a child of a kind that has data, beside the owner, or where it says so.
func liveChild(kind, suffix, namespace, mark string) string {
	return fmt.Sprintf(`    - id: child
      template:
        apiVersion: v1
        kind: %s
        metadata:
          name: "${owner.metadata.name}%s"
          namespace: %s
          labels: {mark: "%s"}
`, kind, suffix, namespace, mark)
}

const liveHome = `"${owner.metadata.namespace}"`

// member makes an owner of a team.
func (w *world) member(namespace, name, team string) {
	w.t.Helper()
	if err := w.control.Apply(w.t.Context(), fmt.Appendf(nil, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: %s, namespace: %s, labels: {team: %s}}
spec: {size: 1}
`, name, namespace, team)); err != nil {
		w.t.Fatal(err)
	}
}

// marked waits until there are so many objects with this mark in a namespace, and
// no others that a policy has made.
func (w *world) marked(resource, namespace, policy, mark string, want int) {
	w.t.Helper()
	objects := w.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: resource}).Namespace(namespace)
	w.eventually(fmt.Sprintf("%d %s of policy %s in %s are as %q says", want, resource, policy, namespace, mark), func(ctx context.Context) error {
		list, err := objects.List(ctx, metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy + "=" + v1alpha1.PolicyLabel("ambit-system", policy)})
		if err != nil {
			return err
		}
		if len(list.Items) != want {
			return fmt.Errorf("there are %d", len(list.Items))
		}
		for _, object := range list.Items {
			if got := object.GetLabels()["mark"]; got != mark {
				return fmt.Errorf("%s is as %q says", object.GetName(), got)
			}
		}
		return nil
	})
}
