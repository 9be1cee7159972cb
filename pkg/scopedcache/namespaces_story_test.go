package scopedcache

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// TestSetNamespaces: namespaces come with Adds, and go without Deletes.
func TestSetNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Namespaces: InNamespaces()}, cache.Options{})
	first, second := w.namespace(), w.namespace()
	for _, namespace := range []string{first, second} {
		w.grantReads(namespace)
		w.create(namespace, "a")
	}
	i, err := w.cache.GetInformer(w.ctx, &corev1.ConfigMap{})
	w.must(err)
	seen := newRecorder(w, i)
	w.must(w.cache.SetNamespaces(first))
	w.start()
	w.until("the first is there", func() bool { return seen.has("add! " + first + "/a") })
	if err := w.get(second, "a"); err == nil || apierrors.IsNotFound(err) {
		t.Errorf("reading a namespace that is none of the cache's: %v", err)
	}
	w.must(w.cache.SetNamespaces(second))
	w.until("the second is there", func() bool { return seen.has("add! " + second + "/a") })
	w.must(w.get(second, "a"))
	names, err := w.names()
	w.must(err)
	if !slices.Equal(names, []string{second + "/a"}) {
		t.Errorf("all there is: %q", names)
	}
	if len(seen.all()) != 2 {
		t.Errorf("the handler was told: %q", seen.all())
	}
}

// TestDeleteOnLeave: with the option a namespace that goes takes its objects along.
func TestDeleteOnLeave(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Namespaces: InNamespaces(), DeleteOnLeave: true}, cache.Options{})
	namespace := w.namespace()
	w.grantReads(namespace)
	w.create(namespace, "a")
	i, err := w.cache.GetInformer(w.ctx, &corev1.ConfigMap{})
	w.must(err)
	seen := newRecorder(w, i)
	w.must(w.cache.SetNamespaces(namespace))
	w.start()
	w.until("it is there", func() bool { return seen.has("add! " + namespace + "/a") })
	w.must(w.cache.SetNamespaces())
	w.until("it goes", func() bool { return seen.has("delete " + namespace + "/a") })
}

// TestSelectedNamespaces: a label brings a namespace, and takes it away.
func TestSelectedNamespaces(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	namespace := w.namespace()
	w.grantReads(namespace)
	w.create(namespace, "a")
	w.grantNamespaces(namespace)
	selector := labels.SelectorFromSet(labels.Set{"scoped": namespace})
	w.remake(Options{Namespaces: SelectedNamespaces(selector)}, cache.Options{})
	w.start()
	if names, err := w.names(); err != nil || len(names) > 0 {
		t.Fatalf("nothing is selected: %q, %v", names, err)
	}
	w.label(namespace, `"`+namespace+`"`)
	w.until("it comes", func() bool { return w.get(namespace, "a") == nil })
	w.label(namespace, "null")
	w.until("it goes", func() bool { return w.get(namespace, "a") != nil })
}

// TestPermitted: the cache has what may be seen, and follows.
func TestPermitted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	allowed, denied := w.namespace(), w.namespace()
	for _, namespace := range []string{allowed, denied} {
		w.create(namespace, "a")
	}
	w.grantReads(allowed)
	w.remake(Options{Namespaces: Permitted(allowed, denied)}, cache.Options{})
	w.start()
	names, err := w.names()
	w.must(err)
	if !slices.Equal(names, []string{allowed + "/a"}) {
		t.Errorf("all that may be seen: %q", names)
	}
	if err := w.get(denied, "a"); !apierrors.IsForbidden(err) {
		t.Errorf("reading what may not be seen: %v", err)
	}
	w.grantReads(denied)
	w.until("the grant is seen", func() bool { names, err := w.names(); return err == nil && len(names) == 2 })
	w.revoke(allowed, "configmaps")
	w.until("the revocation is seen", func() bool {
		names, err := w.names()
		return err == nil && slices.Equal(names, []string{denied + "/a"})
	})
}

// grantNamespaces lets operator read namespaces, under a name of its own.
func (w *world) grantNamespaces(name string) {
	w.Helper()
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}}
	meta := metav1.ObjectMeta{Name: name}
	_, err := w.admin.RbacV1().ClusterRoles().Create(w.ctx, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{rule}}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.admin.RbacV1().ClusterRoleBindings().Create(w.ctx, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "operator"}},
	}, metav1.CreateOptions{})
	w.must(err)
	w.cluster.Decided(w.ctx, w, "operator", "", true, rule)
}

// remake makes another cache in the place of the one that is not started.
func (w *world) remake(own Options, options cache.Options) {
	w.Helper()
	made, err := New(own)(w.cluster.User("operator"), options)
	w.must(err)
	w.cache = made.(*Cache)
}

// label sets or removes the label of a namespace that a test selects.
func (w *world) label(namespace, value string) {
	w.Helper()
	_, err := w.admin.CoreV1().Namespaces().Patch(w.ctx, namespace, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"scoped":`+value+`}}}`), metav1.PatchOptions{})
	w.must(err)
}

// TestPermittedEverywhere: one stream serves all namespaces where that is allowed. Its user is an administrator.
func TestPermittedEverywhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	namespace := w.namespace()
	w.create(namespace, "a")
	made, err := New(Options{Namespaces: Permitted()})(w.cluster.Admin(), cache.Options{})
	w.must(err)
	w.cache = made.(*Cache)
	w.start()
	w.must(w.get(namespace, "a"))
	names, err := w.names(client.InNamespace(namespace))
	w.must(err)
	if !slices.Contains(names, namespace+"/a") {
		t.Errorf("in the namespace: %q", names)
	}
	if states := w.cache.informers.States(); len(states) != 2 {
		t.Errorf("streams of ConfigMaps and namespaces: %v", states)
	}
}
