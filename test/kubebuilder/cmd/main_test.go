package main

import (
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/ambit-dev/ambit/pkg/scopedcache"
	"github.com/ambit-dev/ambit/test/cluster"
	cachev1alpha1 "github.com/ambit-dev/ambit/test/kubebuilder/api/v1alpha1"
)

// user is who the operator is.
const user = "operator"

// retried is so many refusals that an informer has tried again: one attempt is a watch that begins with all objects,
// and a list when that is refused.
const retried = 3

var control = cluster.NewLazy(cluster.Options{
	Audit: true, Users: map[string][]string{user: nil}, CRDs: []string{"../../../examples/memcached/crd.yaml"},
})

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	goleak.VerifyTestMain(control.Around(m))
}

// scaffolded are the options of main, but that several operators have room in one process.
func scaffolded() ctrl.Options {
	return ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: "0"},
		HealthProbeBindAddress: "127.0.0.1:0",
		LeaderElectionID:       "memcached.cache.example.com",
		Controller:             config.Controller{SkipNameValidation: ptr.To(true)},
	}
}

// TestAsScaffolded: with Roles in place of its ClusterRole the operator does nothing, also where it might. Its cache
// lists all namespaces, is refused, tries again, and is not synced until there is a ClusterRole.
func TestAsScaffolded(t *testing.T) {
	w := newWorld(t)
	operator := w.start(scaffolded())
	w.refused("", "memcacheds", retried)
	w.refused("", "deployments", retried)
	w.stuck(operator)

	w.grantEverywhere()
	w.says(w.one, "1 of 1 servers available")
}

// TestDefaultNamespaces: naming the namespaces to the same cache is no help while one of them is denied: until then
// none of them is reconciled.
func TestDefaultNamespaces(t *testing.T) {
	w := newWorld(t)
	options := scaffolded()
	options.Cache.DefaultNamespaces = map[string]cache.Config{w.one: {}, w.two: {}, w.denied: {}}
	operator := w.start(options)
	w.refused(w.denied, "memcacheds", retried)
	w.refused(w.denied, "deployments", retried)
	w.stuck(operator)

	w.grant(w.denied)
	w.says(w.one, "1 of 1 servers available")
}

// TestOneLine: with another cache, and nothing else, the same operator works where it has a Role.
func TestOneLine(t *testing.T) {
	w := newWorld(t)
	options := scaffolded()
	options.NewCache = scopedcache.New(scopedcache.Options{Namespaces: scopedcache.InNamespaces(w.one, w.two, w.denied)})
	operator := w.start(options)

	w.says(w.one, "1 of 1 servers available")
	w.says(w.two, "1 of 1 servers available")
	w.refused(w.denied, "memcacheds", 1)
	w.refused(w.denied, "deployments", 1)
	w.settled(operator)
	w.untouched(w.denied)
	w.leastRights(operator)

	w.resize(w.one, 3)
	w.says(w.one, "3 of 3 servers available")
	w.replaced(w.two)
	w.says(w.two, "1 of 1 servers available")
	w.untouched(w.denied)

	w.grant(w.denied) // a Role is all that the third namespace needs: the operator is the same process
	w.says(w.denied, "1 of 1 servers available")
	for _, r := range w.requests() {
		if r.Namespace == "" && isOurs(r) {
			t.Errorf("a request for all namespaces, which takes a ClusterRole: %s %s", r.Verb, r.URI)
		}
	}
}

// settled holds the informers to it that none waits for the namespace that is denied, where a read says so.
func (w *world) settled(operator ctrl.Manager) {
	w.Helper()
	if !operator.GetCache().WaitForCacheSync(w.bounded()) {
		w.Error("the cache is not synced")
	}
	for _, kind := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}} {
		informer, err := operator.GetCache().GetInformer(w.bounded(), kind)
		w.must(err)
		if !informer.HasSynced() {
			w.Errorf("the informer of %T is not synced", kind)
		}
	}
	found := &appsv1.DeploymentList{}
	err := operator.GetClient().List(w.bounded(), found, client.InNamespace(w.denied))
	if !apierrors.IsForbidden(err) {
		w.Errorf("reading Deployments where that is denied: got error %v, want one that is Forbidden", err)
	}
}

// leastRights holds the cache to it that reading takes a Role in each namespace, and no ClusterRole.
func (w *world) leastRights(operator ctrl.Manager) {
	w.Helper()
	reads := []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"list", "watch"}},
	}
	want := map[string][]rbacv1.PolicyRule{w.one: reads, w.two: reads, w.denied: reads}
	if diff := cmp.Diff(want, scopedcache.Rules(operator.GetCache())); diff != "" {
		w.Errorf("the least that reading takes: -want +got:\n%s", diff)
	}
}
