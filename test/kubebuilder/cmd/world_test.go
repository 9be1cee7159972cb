package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/cluster"
	cachev1alpha1 "github.com/ambit-dev/ambit/test/kubebuilder/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/kubebuilder/internal/controller"
	"github.com/ambit-dev/ambit/test/poll"
)

// patience is how long a step waits for what must happen.
const patience = time.Minute

// world is what an administrator sees: three namespaces with a Memcached of size 1 in each. The operator has a Role in
// the first two.
type world struct {
	*testing.T
	cluster          *cluster.Cluster
	admin            client.Client
	mark             cluster.Mark // when the operator was started
	one, two, denied string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	c := control.Cluster(t)
	w := &world{T: t, cluster: c}
	manager, err := newManager(c.Admin(), scaffolded()) // for its scheme; it is not started
	w.must(err)
	w.admin, err = client.New(c.Admin(), client.Options{Scheme: manager.GetScheme()})
	w.must(err)
	for _, namespace := range []*string{&w.one, &w.two, &w.denied} {
		*namespace = c.Namespace(t.Context(), t, "kubebuilder")
		memcached := memcachedIn(*namespace)
		memcached.Spec.Size = 1
		w.must(w.admin.Create(t.Context(), memcached))
	}
	w.grant(w.one)
	w.grant(w.two)
	return w
}

// memcachedIn is the Memcached of a namespace, by its name alone.
func memcachedIn(namespace string) *cachev1alpha1.Memcached {
	return &cachev1alpha1.Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "sample"}}
}

// rules are those of the ClusterRole that kubebuilder makes of the operator's markers.
func rules() []rbacv1.PolicyRule {
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	group := []string{cachev1alpha1.GroupVersion.Group}
	return []rbacv1.PolicyRule{
		{APIGroups: group, Resources: []string{"memcacheds"}, Verbs: all},
		{APIGroups: group, Resources: []string{"memcacheds/status"}, Verbs: []string{"get", "update", "patch"}},
		{APIGroups: group, Resources: []string{"memcacheds/finalizers"}, Verbs: []string{"update"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: all},
	}
}

// subjects are who Roles are bound to.
func subjects() []rbacv1.Subject {
	return []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}}
}

// grant gives the operator a Role.
func (w *world) grant(namespace string) {
	w.Helper()
	named := metav1.ObjectMeta{Namespace: namespace, Name: "manager-role"}
	w.must(w.admin.Create(w.Context(), &rbacv1.Role{ObjectMeta: named, Rules: rules()}))
	w.must(w.admin.Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: named, Subjects: subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: named.Name},
	}))
	w.cluster.Decided(w.Context(), w, user, namespace, true, rules()...)
}

// grantEverywhere gives the operator the ClusterRole until the test ends, and returns when that counts.
func (w *world) grantEverywhere() {
	w.Helper()
	named := metav1.ObjectMeta{Name: "manager-role"}
	role := &rbacv1.ClusterRole{ObjectMeta: named, Rules: rules()}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: named, Subjects: subjects(),
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: named.Name},
	}
	w.Cleanup(func() {
		ctx := context.WithoutCancel(w.Context()) // the test's own has ended
		for _, object := range []client.Object{binding, role} {
			if err := client.IgnoreNotFound(w.admin.Delete(ctx, object)); err != nil {
				w.Error(err)
			}
		}
		w.cluster.Decided(ctx, w, user, "", false, rules()...)
	})
	w.must(w.admin.Create(w.Context(), role))
	w.must(w.admin.Create(w.Context(), binding))
	w.cluster.Decided(w.Context(), w, user, "", true, rules()...)
}

// start runs the operator with options until the test ends.
func (w *world) start(options ctrl.Options) ctrl.Manager {
	w.Helper()
	operator, err := newManager(w.cluster.User(user), options)
	w.must(err)
	w.mark = w.cluster.Audit().Mark()
	ctx, stop := context.WithCancel(w.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := operator.Start(ctx); err != nil {
			w.Errorf("the operator: %v", err)
		}
	})
	w.Cleanup(func() { stop(); running.Wait() })
	return operator
}

// requests are what the operator has asked for since it was started.
func (w *world) requests() []cluster.Request {
	w.Helper()
	requests, err := w.cluster.Audit().Since(w.mark, user)
	w.must(err)
	return requests
}

// isOurs says whether a request is about Memcacheds or Deployments.
func isOurs(r cluster.Request) bool { return r.Resource == "memcacheds" || r.Resource == "deployments" }

// refused waits until the API server has refused to list or watch a resource so many times; the empty namespace
// stands for all.
func (w *world) refused(namespace, resource string, times int) {
	w.Helper()
	w.until(fmt.Sprintf("%s are refused %d times in namespace %q", resource, times, namespace), func() bool {
		found := 0
		for _, r := range w.requests() {
			if r.Code == 403 && r.Resource == resource && r.Namespace == namespace && (r.Verb == "list" || r.IsWatchClosed()) {
				found++
			}
		}
		return found >= times
	})
}

// stuck holds the operator to it that it does no work at all.
func (w *world) stuck(operator ctrl.Manager) {
	w.Helper()
	for _, kind := range []client.Object{&cachev1alpha1.Memcached{}, &appsv1.Deployment{}} {
		informer, err := operator.GetCache().GetInformer(w.bounded(), kind, cache.BlockUntilSynced(false))
		w.must(err)
		if informer.HasSynced() {
			w.Errorf("the informer of %T is synced", kind)
		}
	}
	for _, r := range w.requests() {
		if r.IsWrite() {
			w.Errorf("the operator has written: %s %s", r.Verb, r.URI)
		}
	}
	for _, namespace := range []string{w.one, w.two, w.denied} {
		w.untouched(namespace)
	}
}

// untouched holds the operator to it that the Memcached of a namespace has neither a status nor a Deployment.
func (w *world) untouched(namespace string) {
	w.Helper()
	memcached, deployments := memcachedIn(namespace), &appsv1.DeploymentList{}
	w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(memcached), memcached))
	w.must(w.admin.List(w.Context(), deployments, client.InNamespace(namespace)))
	if conditions := memcached.Status.Conditions; len(conditions) > 0 || len(deployments.Items) > 0 {
		w.Errorf("in namespace %q there are conditions %v and %d Deployments, want none", namespace, conditions, len(deployments.Items))
	}
}

// says waits until a Memcached is available with this message, which is about its present spec.
func (w *world) says(namespace, message string) {
	w.Helper()
	memcached := memcachedIn(namespace)
	w.until(fmt.Sprintf("the Memcached of namespace %q says %q", namespace, message), func() bool {
		w.must(w.admin.Get(w.Context(), client.ObjectKeyFromObject(memcached), memcached))
		found := meta.FindStatusCondition(memcached.Status.Conditions, controller.ConditionAvailable)
		return found != nil && found.Status == metav1.ConditionTrue && found.Message == message && found.ObservedGeneration == memcached.Generation
	})
}

func (w *world) resize(namespace string, size int32) {
	w.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"size":%d}}`, size))
	w.must(w.admin.Patch(w.Context(), memcachedIn(namespace), patch))
}

// replaced deletes a Deployment, and waits until the operator has made another.
func (w *world) replaced(namespace string) {
	w.Helper()
	key := client.ObjectKeyFromObject(memcachedIn(namespace))
	old, found := &appsv1.Deployment{}, &appsv1.Deployment{}
	w.must(w.admin.Get(w.Context(), key, old))
	w.must(w.admin.Delete(w.Context(), old))
	w.until(fmt.Sprintf("the Deployment of namespace %q is made anew", namespace), func() bool {
		err := w.admin.Get(w.Context(), key, found)
		w.must(client.IgnoreNotFound(err))
		return err == nil && found.UID != old.UID
	})
}

// bounded returns a context for what must not wait.
func (w *world) bounded() context.Context {
	ctx, cancel := context.WithTimeout(w.Context(), patience)
	w.Cleanup(cancel)
	return ctx
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) until(what string, is func() bool) {
	w.Helper()
	err := poll.Until(w.Context(), patience, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		w.Fatalf("waiting until %s: %v", what, err)
	}
}
