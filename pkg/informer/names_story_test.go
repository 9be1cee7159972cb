package informer

import (
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestRealMerged: an object of others without a namespace is watched by its name,
// under a right on just that name; what is merged into it for one owner is kept as
// such, and an own write is seen at once.
func TestRealMerged(t *testing.T) {
	w := newEnv(t, Options{}, "")
	name := w.namespace()
	w.grantNamed(name)
	namespaces := schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	need := Interest{
		Key:   Key{GVR: namespaces, FieldSelector: "metadata.name=" + name, Form: Form{Manager: "ambit/story"}},
		Names: []string{name},
	}
	writer, reader := w.listener(), w.listener()
	view := w.streams.Require(writer, []Interest{need})[0]
	w.streams.Require(reader, []Interest{need})
	writer.next(Synced, "")
	expect(t, "entries of others", 0, len(view.Get("", name).GetManagedFields()))

	merge := func(manager, value string) *unstructured.Unstructured {
		object := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": name, "labels": map[string]any{manager: value}},
		}}
		merged, err := w.objects.Resource(namespaces).Apply(t.Context(), name, object, metav1.ApplyOptions{FieldManager: "ambit/story/" + manager})
		w.must(err)
		return merged
	}
	w.streams.Observe(need.Key, merge("one", "1"), writer)
	expect(t, "what was written is seen at once", "1", view.Get("", name).GetLabels()["one"])
	merge("two", "2")
	for writer.next(Updated, name).Object.GetLabels()["two"] != "2" {
		// the event of the own write was faster than its answer
	}
	var managers []string
	for _, e := range view.Get("", name).GetManagedFields() {
		managers = append(managers, e.Manager)
	}
	expect(t, "entries", []string{"ambit/story/one", "ambit/story/two"}, managers)
	reader.nextAfterSynced(Updated, name)
	reader.next(Updated, name)
	expect(t, "objects", 1, len(view.List()))
}

// grantNamed lets watcher list and watch one Namespace, as grant does.
func (w *env) grantNamed(name string) {
	w.Helper()
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{name}, Verbs: []string{"list", "watch"}}
	_, err := w.admin.RbacV1().ClusterRoles().Create(w.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{rule},
	}, metav1.CreateOptions{})
	w.must(err)
	_, err = w.admin.RbacV1().ClusterRoleBindings().Create(w.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "watcher"}},
	}, metav1.CreateOptions{})
	w.must(err)
	w.cluster.Decided(w.Context(), w, "watcher", "", true, rule)
}
