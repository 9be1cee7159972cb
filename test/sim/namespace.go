package sim

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	corev1 "k8s.io/api/core/v1"
)

// admitNamespace refuses to make an object where there is no namespace, or one that is
// going.
func (c *call) admitNamespace(name string) error {
	if c.Namespace == "" {
		return nil
	}
	namespaces := schema.GroupResource{Resource: "namespaces"}
	live := c.resources[namespaces].objects[types.NamespacedName{Name: c.Namespace}]
	if live == nil {
		return apierrors.NewNotFound(namespaces, c.Namespace)
	}
	if live.GetDeletionTimestamp() == nil {
		return nil
	}
	err := apierrors.NewForbidden(c.gr(), name, fmt.Errorf("unable to create new content in namespace %s because it is being terminated", c.Namespace))
	err.ErrStatus.Details.Causes = append(err.ErrStatus.Details.Causes, metav1.StatusCause{
		Type: corev1.NamespaceTerminatingCause, Message: fmt.Sprintf("namespace %s is being terminated", c.Namespace), Field: "metadata.namespace",
	})
	return err
}

// isImmortal reports whether a namespace cannot be deleted.
func isImmortal(name string) bool {
	return name == metav1.NamespaceDefault || name == metav1.NamespaceSystem || name == metav1.NamespacePublic
}

// prepareNamespace gives a new namespace its finalizer, phase and label.
func prepareNamespace(obj map[string]any) {
	defaultNamespace(obj)
	setNested(obj, []any{string(corev1.FinalizerKubernetes)}, "spec", "finalizers")
	setNested(obj, string(corev1.NamespaceActive), "status", "phase")
}

// holdsContent reports whether an object is a namespace that has not been emptied yet.
func holdsContent(obj *unstructured.Unstructured) bool {
	if obj.GetKind() != "Namespace" {
		return false
	}
	finalizers, _, _ := unstructured.NestedSlice(obj.Object, "spec", "finalizers")
	return len(finalizers) > 0
}

// setNested sets a field; maps on the way are made.
func setNested(obj map[string]any, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		inner, ok := obj[name].(map[string]any)
		if !ok {
			inner = map[string]any{}
			obj[name] = inner
		}
		obj = inner
	}
	obj[path[len(path)-1]] = value
}

// bootstrapLocked makes what every cluster has from the beginning.
func (s *Server) bootstrapLocked() {
	for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
		s.plantLocked("", "namespaces", &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	everybody := []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacGroup, Name: "system:authenticated"}}
	masters := []rbacv1.Subject{{Kind: rbacv1.GroupKind, APIGroup: rbacGroup, Name: "system:masters"}}
	roles := []struct {
		name     string
		rules    []rbacv1.PolicyRule
		subjects []rbacv1.Subject
	}{
		{"cluster-admin", []rbacv1.PolicyRule{{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}, masters},
		{"system:basic-user", []rbacv1.PolicyRule{
			{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"selfsubjectaccessreviews", "selfsubjectrulesreviews"}},
			{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
		}, everybody},
	}
	for _, r := range roles {
		s.plantLocked(rbacGroup, "clusterroles", &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: r.name}, Rules: r.rules})
		s.plantLocked(rbacGroup, "clusterrolebindings", &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: r.name}, Subjects: r.subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacGroup, Kind: "ClusterRole", Name: r.name},
		})
	}
	lag := s.authorizer.lag
	for i := range s.authorizer.unread {
		s.authorizer.unread[i].at = s.authorizer.unread[i].at.Add(-lag)
	}
}

// plantLocked makes an object as the API server itself does.
func (s *Server) plantLocked(group, plural string, typed runtime.Object) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(typed)
	if err != nil {
		panic(fmt.Sprintf("sim: encoding %T: %v", typed, err)) // a mistake in this package
	}
	r := s.resources[schema.GroupResource{Group: group, Resource: plural}]
	obj := &unstructured.Unstructured{Object: content}
	obj.SetGroupVersionKind(r.stored.gvk)
	c := &call{Server: s, resource: r, served: r.stored, internal: true, Request: Request{
		User: Admin, Verb: "create", Name: obj.GetName(), Resource: r.stored.gvk.GroupVersion().WithResource(plural),
	}}
	if _, err := c.create(obj, intent{manager: "kube-apiserver"}); err != nil {
		panic(fmt.Sprintf("sim: making %s %s: %v", plural, obj.GetName(), err))
	}
}
