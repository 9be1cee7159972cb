package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestScenario is the reason Ambit exists, told in ten steps: rights are granted
// and taken away in one namespace while Ambit runs, and two others go on. It sees
// owners cluster-wide and so runs alone. Without the right to watch RBAC objects the simulation
// tells it (TestAmbit in test/sim), and TestInstallations in test/install.
func TestScenario(t *testing.T) {
	newScenario(t, "scenario").tell(t)
}

// scenario is the story and what has to be true in it by now.
type scenario struct {
	*world
	one, two, denied string

	serving     []string         // namespaces with streams of their own
	deployments map[string]int32 // replicas by NAMESPACE/NAME

	calm       cluster.Mark // since when namespaces one and two are to be undisturbed
	revoked    cluster.Mark // when the rights in denied were taken away
	deployment types.UID    // of the Deployment in denied
	finalizers func() []string
}

func newScenario(t *testing.T, user string) *scenario {
	w := newWorld(t, user)
	w.alone()
	s := &scenario{world: w, deployments: map[string]int32{}, finalizers: w.finalizersSeen()}
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.grantEverywhere("owners", rightsOn("memcacheds", "memcacheds/status")...)
	s.one, s.two = w.namespace(childRights()...), w.namespace(childRights()...)
	s.denied = w.namespace(childRights()...)
	w.unbind(s.denied)
	w.decided(s.one, true, childRights()...)
	w.decided(s.two, true, childRights()...)
	w.decided(s.denied, false, childRights()...)
	return s
}

func childRights() []rbacv1.PolicyRule { return rightsOn("deployments", "pods") }

func (s *scenario) tell(t *testing.T) {
	mark := s.control.Audit().Mark()
	s.run(nil, memcached(t))
	steps := []struct {
		name string
		do   func(*world)
	}{
		{"01-NobodyOwnsAnything", func(w *world) { w.streamsLast(s.wantedStreams()...) }},
		{"02-AnOwnerInOneAllowedNamespace", s.ownerInOne},
		{"03-AnOwnerInTheOther", s.ownerInTwo},
		{"04-AnOwnerIsToldWhatIsMissing", s.ownerInDenied},
		{"05-TheRightsAreGranted", s.grant05},
		{"06-Resize", s.resize06},
		{"07-TheRightsAreTakenAway", s.revoke07},
		{"08-ResizeWhileDenied", s.resize08},
		{"09-TheRightsAreGrantedAgain", s.grant09},
		{"10-TheOwnersAreDeleted", s.delete10},
	}
	for _, step := range steps {
		ok := t.Run(step.name, func(t *testing.T) {
			w := s.in(t)
			step.do(w)
			s.check(w)
		})
		if !ok {
			t.Fatal("the story ends here")
		}
	}
	s.none(mark, "a delete by Ambit", func(r cluster.Request) bool { return r.Verb == "delete" || r.Verb == "deletecollection" })
	if seen := s.finalizers(); len(seen) > 0 {
		t.Errorf("there were finalizers on owners: %q", seen)
	}
}

// check compares the Deployments and the open streams, all of them, with what
// has to be there by now.
func (s *scenario) check(w *world) {
	w.t.Helper()
	w.streamsAre(s.wantedStreams()...)
	if diff := cmp.Diff(s.deployments, s.allDeployments(w)); diff != "" {
		w.t.Errorf("Deployments (-want +got):\n%s", diff)
	}
}

// wantedStreams are those that have to be open by now.
func (s *scenario) wantedStreams() []string {
	want := []string{"memcacheds *", "roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *"}
	for _, namespace := range s.serving {
		want = append(want, "deployments "+namespace, "pods "+namespace)
	}
	return want
}

func (s *scenario) allDeployments(w *world) map[string]int32 {
	w.t.Helper()
	found := map[string]int32{}
	for _, namespace := range []string{s.one, s.two, s.denied} {
		list, err := w.typed.AppsV1().Deployments(namespace).List(w.t.Context(), metav1.ListOptions{})
		if err != nil {
			w.t.Fatal(err)
		}
		for _, d := range list.Items {
			found[namespace+"/"+d.Name] = *d.Spec.Replicas
		}
	}
	return found
}

func (s *scenario) ownerInOne(w *world) { s.ownerIn(w, s.one, 2) }

func (s *scenario) ownerInTwo(w *world) { s.ownerIn(w, s.two, 3) }

func (s *scenario) ownerIn(w *world, namespace string, size int) {
	w.createOwner(namespace, "cache", int64(size))
	w.ready(namespace, "cache", size)
	s.serving = append(s.serving, namespace)
	s.deployments[namespace+"/cache"] = int32(size)
	s.check(w) // all streams are open: from here on they stay
	s.calm = w.control.Audit().Mark()
}

// ownerInDenied: the status says all that is missing, and nothing but the status
// is asked of that namespace.
func (s *scenario) ownerInDenied(w *world) {
	w.createOwner(s.denied, "cache", 1)
	s.saysAllIsMissing(w)
	w.none(s.calm, "a request in a namespace without rights", func(r cluster.Request) bool {
		return r.Namespace == s.denied && (r.Verb != "patch" || r.Resource+"/"+r.Subresource != "memcacheds/status" || isRefused(r))
	})
	s.undisturbed(w)
}

func (s *scenario) saysAllIsMissing(w *world) {
	w.t.Helper()
	w.refusedSays(s.denied, "cache",
		fmt.Sprintf(`cannot get, list, watch, create, patch, delete deployments.apps in namespace %q as %s; cannot list, watch pods in namespace %q as %s`,
			s.denied, s.user, s.denied, s.user),
		fmt.Sprintf(`Not permitted to get, list, watch, create, patch, delete deployments.apps in namespace %q; list, watch pods in namespace %q`,
			s.denied, s.denied))
}

func (s *scenario) grant05(w *world) {
	w.bind(s.denied)
	w.ready(s.denied, "cache", 1)
	s.serving = append(s.serving, s.denied)
	s.deployments[s.denied+"/cache"] = 1
	s.deployment = w.deployment(s.denied, "cache").UID
	s.undisturbed(w)
}

func (s *scenario) resize06(w *world) {
	w.resize(s.denied, "cache", 2)
	w.ready(s.denied, "cache", 2)
	s.deployments[s.denied+"/cache"] = 2
}

// revoke07: nobody touches the owner; in the allowed namespaces work goes on.
func (s *scenario) revoke07(w *world) {
	before, err := w.owner(w.t.Context(), s.denied, "cache")
	if err != nil {
		w.t.Fatal(err)
	}
	s.revoked = w.control.Audit().Mark()
	w.unbind(s.denied)
	w.resize(s.one, "cache", 3)
	w.ready(s.one, "cache", 3)
	s.deployments[s.one+"/cache"] = 3
	s.saysAllIsMissing(w)
	s.serving = []string{s.one, s.two}
	s.check(w)
	after, err := w.owner(w.t.Context(), s.denied, "cache")
	if err != nil {
		w.t.Fatal(err)
	}
	if after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration() {
		w.t.Errorf("somebody has touched the owner: generation %d, was %d", after.GetGeneration(), before.GetGeneration())
	}
	if uid := w.deployment(s.denied, "cache").UID; uid != s.deployment {
		w.t.Errorf("the Deployment is another one: %s, was %s", uid, s.deployment)
	}
	s.undisturbed(w)
}

// resize08: Ambit sees the change, and does not even try.
func (s *scenario) resize08(w *world) {
	w.resize(s.denied, "cache", 4)
	w.observed(s.denied, "cache")
	s.saysAllIsMissing(w)
	w.resize(s.two, "cache", 1) // whatever was due before this is done
	w.ready(s.two, "cache", 1)
	s.deployments[s.two+"/cache"] = 1
	w.none(s.revoked, "a write without a right", func(r cluster.Request) bool {
		return r.Namespace == s.denied && r.IsWrite() && r.Resource != "memcacheds"
	})
	s.undisturbed(w)
}

func (s *scenario) grant09(w *world) {
	w.bind(s.denied)
	w.ready(s.denied, "cache", 4)
	s.deployments[s.denied+"/cache"] = 4
	s.serving = append(s.serving, s.denied)
	if uid := w.deployment(s.denied, "cache").UID; uid != s.deployment {
		w.t.Errorf("the Deployment is another one: %s, was %s", uid, s.deployment)
	}
	s.undisturbed(w)
}

func (s *scenario) delete10(w *world) {
	for _, namespace := range []string{s.one, s.two, s.denied} {
		w.deleteOwner(namespace, "cache")
	}
	for _, namespace := range []string{s.one, s.two, s.denied} {
		w.gone(namespace, "cache")
	}
	clear(s.deployments)
	s.serving = nil
}

// undisturbed: no stream of the allowed namespaces, nor that of owners, has begun
// anew: the connections are the same.
func (s *scenario) undisturbed(w *world) {
	w.t.Helper()
	w.none(s.calm, "the allowed namespaces were disturbed", func(r cluster.Request) bool {
		if r.Namespace == s.denied || strings.HasPrefix(r.Resource, "selfsubject") {
			return false
		}
		return r.Verb == "list" || isRefused(r) || r.IsWatch()
	})
}

// alone deletes the owners that other stories have left, and waits until there are none: Ambit would serve them too. No
// story that has owners runs beside one that wants to be alone.
func (w *world) alone() {
	w.t.Helper()
	w.eventually("there are no owners of others", func(ctx context.Context) error {
		list, err := w.objects.Resource(memcacheds).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, owner := range list.Items {
			if owner.GetDeletionTimestamp() == nil {
				w.deleteOwner(owner.GetNamespace(), owner.GetName())
			}
		}
		if n := len(list.Items); n > 0 {
			return fmt.Errorf("there were %d", n)
		}
		return nil
	})
}

// finalizersSeen notes every finalizer that any owner ever has, until the result
// is called.
func (w *world) finalizersSeen() (seen func() []string) {
	w.t.Helper()
	changes, err := w.objects.Resource(memcacheds).Watch(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	var (
		found []string
		ended sync.WaitGroup
	)
	ended.Go(func() {
		for event := range changes.ResultChan() {
			if owner, ok := event.Object.(*unstructured.Unstructured); ok {
				found = append(found, owner.GetFinalizers()...)
			}
		}
	})
	seen = func() []string {
		changes.Stop()
		ended.Wait()
		slices.Sort(found)
		return slices.Compact(found)
	}
	w.t.Cleanup(func() { seen() })
	return seen
}
