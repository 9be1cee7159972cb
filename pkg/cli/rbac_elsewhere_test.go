package cli_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// handsOut is a policy that makes a ClusterRole, and in each owner's namespace a Role
// and bindings to both.
func (s *stage) handsOut() []byte {
	return fmt.Appendf(nil, `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached, selector: {matchLabels: {stage: %[1]s}}}
  ensure:
    - id: viewer
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: ClusterRole
        metadata: {name: "${policy.name}"}
        rules:
          - {apiGroups: ["", apps], resources: [pods, pods/log], verbs: [get, deletecollection]}
          - {apiGroups: [""], resources: [secrets], resourceNames: [a, b], verbs: [get, update]}
  children:
    - id: role
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: Role
        metadata: {name: own}
        rules: [{apiGroups: [""], resources: [configmaps], verbs: [get]}]
    - id: binding
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: own}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: own}
    - id: view
      template:
        apiVersion: rbac.authorization.k8s.io/v1
        kind: RoleBinding
        metadata: {name: view}
        roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "${policy.name}"}
`, s.home)
}

// TestHandOut: with the rights that are printed, and without one of the verbs bind and
// escalate, the API server lets an account make the roles and bindings of its policy.
func TestHandOut(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place := s.handsOut(), s.namespace("place")
	config, err := s.plane.ServiceAccount(t.Context(), s.home, "ambit")
	if err != nil {
		t.Fatal(err)
	}
	typed, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--service-account", s.home + "/ambit", "--namespaces", place}
	printed := s.ambit(policy, "rbac", args...)
	if printed.Code != 0 || printed.Stderr != "" || strings.Contains(printed.Stdout, "#") {
		t.Fatalf("All is known: %+v", printed)
	}
	s.apply([]byte(printed.Stdout))
	s.removeAfter("ambit-" + s.home)
	s.until(allGranted, policy, "access", args...)
	s.until(nothingMissing, policy, "rbac", append([]string{"--missing"}, args...)...)

	ours := rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: s.home}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"", "apps"}, Resources: []string{"pods", "pods/log"}, Verbs: []string{"get", "deletecollection"}},
		{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{"a", "b"}, Verbs: []string{"get", "update"}},
	}}
	more := *ours.DeepCopy()
	more.Name, more.Rules[1].ResourceNames = s.home+"-more", nil
	rbac := typed.RbacV1()
	if _, err := rbac.ClusterRoles().Create(t.Context(), &more, metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Errorf("a ClusterRole with more rights: %v", err)
	}
	if _, err := rbac.ClusterRoles().Create(t.Context(), &ours, metav1.CreateOptions{}); err != nil {
		t.Errorf("the ClusterRole of the policy: %v", err)
	}
	own := rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "own"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}},
	}}
	if _, err := rbac.Roles(place).Create(t.Context(), &own, metav1.CreateOptions{}); err != nil {
		t.Errorf("the Role of the policy: %v", err)
	}
	for kind, name := range map[string]string{"Role": "own", "ClusterRole": s.home} {
		binding := rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "b-"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: kind, Name: name},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "alice"}},
		}
		if _, err := rbac.RoleBindings(place).Create(t.Context(), &binding, metav1.CreateOptions{}); err != nil {
			t.Errorf("the binding to %s %s: %v", kind, name, err)
		}
	}
}

// removeAfter removes a ClusterRole of this name, and its binding.
func (s *stage) removeAfter(name string) {
	s.Cleanup(func() {
		for _, err := range []error{
			s.typed.RbacV1().ClusterRoleBindings().Delete(context.Background(), name, metav1.DeleteOptions{}),
			s.typed.RbacV1().ClusterRoles().Delete(context.Background(), name, metav1.DeleteOptions{}),
		} {
			if err != nil && !apierrors.IsNotFound(err) {
				s.Error(err)
			}
		}
	})
}

// TestAccessElsewhere: what is not in the owners' namespaces has rows of its own; what
// is granted in all of them is not missing in one.
func TestAccessElsewhere(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	place, shared, account := s.namespace("place"), s.namespace("shared"), s.home+"/ambit"
	policy := fmt.Appendf(nil, `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  scope: {namespaces: [%[2]s]}
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached, selector: {matchLabels: {stage: %[1]s}}}
  children:
    - {id: copy, template: {apiVersion: v1, kind: Secret, metadata: {name: x, namespace: "${owner.metadata.labels.to}"}}}
  watches:
    - {id: settings, apiVersion: v1, kind: ConfigMap, namespace: %[3]s}
    - {id: classes, apiVersion: scheduling.k8s.io/v1, kind: PriorityClass}
`, s.home, place, shared)
	args := []string{"--service-account", account}
	hint := func(r result) string { return r.Stderr[:strings.Index(r.Stderr, ";")] }
	warning := fmt.Sprintf("warning: policy %q: only owners say in which namespaces \"copy\" may be: rights for that are in all, unless --namespaces names some\n", s.home)

	got := s.ambit(policy, "access", args...)
	want := fmt.Sprintf("Policy %s as system:serviceaccount:%s:ambit\n", s.home, s.home) + aligned(
		[]string{"NAMESPACE", "SECRETS", "PRIORITYCLASSES", "MEMCACHEDS", "MEMCACHEDS/STATUS", "CONFIGMAPS"},
		[]string{"<all>", "no get,list,watch,create,patch,delete", "no list,watch", "<none>", "<none>", "<none>"},
		[]string{place, "<none>", "<none>", "no list,watch,patch", "no patch", "<none>"},
		[]string{shared, "<none>", "<none>", "<none>", "<none>", "no list,watch"},
	)
	if diff := cmp.Diff(want, got.Stdout); diff != "" || hint(got) != warning+"something is missing cluster-wide and in 2 of 2 namespaces" {
		t.Errorf("Nothing is granted: stderr %s-want +got\n%s", got.Stderr, diff)
	}
	s.removeAfter("ambit-" + s.home)
	s.apply([]byte(s.ambit(policy, "rbac", append([]string{"--missing"}, args...)...).Stdout))
	s.until(allGranted, policy, "access", args...)
	if err := s.typed.RbacV1().RoleBindings(shared).Delete(t.Context(), "ambit-"+s.home, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got = s.until(func(r result) bool { return r.Code == 1 }, policy, "access", args...)
	if hint(got) != warning+"something is missing in 1 of 2 namespaces" {
		t.Errorf("The policy's own namespace for settings is one: %+v", got)
	}
}

// TestAccessSelector: owners are looked for in the namespaces with the labels, and to
// see these is a right that is needed.
func TestAccessSelector(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy := s.policy("scope: {namespaceSelector: {matchLabels: {stage: " + s.home + "}}}")
	place, other := s.namespace("place"), s.namespace("other")
	s.apply(fmt.Appendf(nil, "{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {stage: %s}}}", place, s.home))
	s.owner(place, 1)
	s.owner(other, 1)
	got := s.ambit(policy, "access", "--service-account", s.home+"/ambit")
	want := fmt.Sprintf("Policy %s as system:serviceaccount:%s:ambit\n", s.home, s.home) + aligned(
		[]string{"NAMESPACE", "NAMESPACES", "MEMCACHEDS", "MEMCACHEDS/STATUS", "DEPLOYMENTS", "PODS"},
		[]string{"<all>", "no list,watch", "<none>", "<none>", "<none>", "<none>"},
		[]string{place, "<none>", "no list,watch", "no patch", "no get,list,watch,create,patch,delete", "no list,watch"},
	)
	if diff := cmp.Diff(want, got.Stdout); diff != "" || !strings.HasPrefix(got.Stderr, "something is missing cluster-wide and in 1 of 1 namespace;") {
		t.Errorf("stderr %s-want +got\n%s", got.Stderr, diff)
	}
	s.removeAfter("ambit-" + s.home)
	s.apply([]byte(s.ambit(policy, "rbac", "--missing", "--service-account", s.home+"/ambit").Stdout))
	s.until(allGranted, policy, "access", "--service-account", s.home+"/ambit")
}

// TestAccessCluster: owners without namespaces are a matter of one row.
func TestAccessCluster(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy := fmt.Appendf(nil, `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  owner: {apiVersion: v1, kind: Namespace, selector: {matchLabels: {stage: %[1]s}}}
  children:
    - {id: quota, onDelete: Orphan, template: {apiVersion: v1, kind: ResourceQuota, metadata: {name: x, namespace: "${owner.metadata.name}"}}}
`, s.home)
	got := s.ambit(policy, "access", "--service-account", s.home+"/ambit")
	want := fmt.Sprintf("Policy %s as system:serviceaccount:%s:ambit\n", s.home, s.home) + aligned(
		[]string{"NAMESPACE", "NAMESPACES", "RESOURCEQUOTAS"},
		[]string{"<all>", "no list,watch,patch", "no get,list,watch,create,patch"},
	)
	if diff := cmp.Diff(want, got.Stdout); diff != "" || strings.Contains(got.Stderr, "has no owners") {
		t.Errorf("stderr %s-want +got\n%s", got.Stderr, diff)
	}
	s.removeAfter("ambit-" + s.home)
	s.apply([]byte(s.ambit(policy, "rbac", "--service-account", s.home+"/ambit").Stdout))
	s.until(allGranted, policy, "access", "--service-account", s.home+"/ambit")
}

// aligned are the rows of a table as they are printed.
func aligned(rows ...[]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		for i, cell := range row {
			if i == len(row)-1 {
				b.WriteString(cell + "\n")
			} else {
				fmt.Fprintf(&b, "%-*s   ", width[i], cell)
			}
		}
	}
	return b.String()
}
