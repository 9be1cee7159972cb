package scopedcache

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/poll"
)

// patience is how long a story waits for what must happen.
const patience = 2 * time.Minute

// world is a story on the real control plane: a cache of the user operator, who has only the rights that the
// story grants.
type world struct {
	*testing.T
	cluster *cluster.Cluster
	admin   kubernetes.Interface
	cache   *Cache
	ctx     context.Context
}

// newWorld makes a cache that is not started yet.
func newWorld(t *testing.T, own Options, options cache.Options) *world {
	t.Helper()
	c := control.Cluster(t)
	w := &world{T: t, cluster: c, admin: kubernetes.NewForConfigOrDie(c.Admin()), ctx: t.Context()}
	made, err := New(own)(c.User("operator"), options)
	w.must(err)
	w.cache = made.(*Cache)
	return w
}

// start runs the cache until the test ends, and waits then until nothing of it runs.
func (w *world) start() {
	w.Helper()
	ctx, stop := context.WithCancel(w.ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := w.cache.Start(ctx); err != nil {
			w.Errorf("the cache: %v", err)
		}
	})
	w.Cleanup(func() { stop(); running.Wait() })
	<-w.cache.registry.BeganRunning()
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) namespace() string {
	w.Helper()
	return w.cluster.Namespace(w.ctx, w, "scoped")
}

// grant lets operator do something with resources of a group in a namespace. The API server knows of it when it
// returns.
func (w *world) grant(namespace, group, resource string, verbs ...string) {
	w.Helper()
	rule := rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	name := metav1.ObjectMeta{Name: resource}
	_, err := w.admin.RbacV1().Roles(namespace).Create(w.ctx, &rbacv1.Role{ObjectMeta: name, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	w.must(client.IgnoreAlreadyExists(err))
	_, err = w.admin.RbacV1().RoleBindings(namespace).Create(w.ctx, &rbacv1.RoleBinding{
		ObjectMeta: name, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: resource},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "operator"}},
	}, metav1.CreateOptions{})
	w.must(err)
	w.cluster.Decided(w.ctx, w, "operator", namespace, true, rule)
}

// grantReads is grant for what a stream of ConfigMaps takes.
func (w *world) grantReads(namespace string) {
	w.Helper()
	w.grant(namespace, "", "configmaps", "list", "watch")
}

func (w *world) revoke(namespace, resource string) {
	w.Helper()
	w.must(w.admin.RbacV1().RoleBindings(namespace).Delete(w.ctx, resource, metav1.DeleteOptions{}))
}

func (w *world) create(namespace, name string) *corev1.ConfigMap {
	w.Helper()
	made, err := w.admin.CoreV1().ConfigMaps(namespace).Create(w.ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"key": "value"},
	}, metav1.CreateOptions{})
	w.must(err)
	return made
}

// until waits until something is so.
func (w *world) until(what string, is func() bool) {
	w.Helper()
	err := poll.Until(w.ctx, patience, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		w.Fatalf("waiting until %s: %v", what, err)
	}
}

// get reads a ConfigMap from the cache.
func (w *world) get(namespace, name string) error {
	w.Helper()
	return w.cache.Get(w.ctx, client.ObjectKey{Namespace: namespace, Name: name}, &corev1.ConfigMap{})
}

// names lists the ConfigMaps of the cache.
func (w *world) names(options ...client.ListOption) ([]string, error) {
	w.Helper()
	list := &corev1.ConfigMapList{}
	err := w.cache.List(w.ctx, list, options...)
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Namespace+"/"+item.Name)
	}
	return names, err
}

// isDenied reports whether a read is denied.
func (w *world) isDenied(namespace string) bool { return apierrors.IsForbidden(w.get(namespace, "a")) }
