package cli_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

const admin = "cluster-admin"

func nothingMissing(r result) bool {
	return r.Code == 0 && r.Stdout == "" && r.Stderr == "nothing is missing\n"
}

func somethingMissing(r result) bool { return r.Code == 0 && r.Stdout != "" }

func allGranted(r result) bool { return r.Code == 0 }

// TestMissingStory: rights on owners everywhere, the rest in one namespace; an
// owner appears in another. What is missing is printed, applied, taken and
// printed again.
func TestMissingStory(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, account := s.policy(""), s.home+"/ambit"
	allowed, denied, idle := s.namespace("allowed"), s.namespace("denied"), s.namespace("idle")
	first := s.ambit(policy, "rbac", "--service-account", account, "--namespaces", allowed, "--owners-everywhere")
	s.apply([]byte(first.Stdout))
	s.owner(allowed, 1)
	s.owner(idle, 0) // the filter leaves it out
	missing := []string{"--missing", "--service-account", account}
	s.until(nothingMissing, policy, "rbac", missing...)

	s.owner(denied, 1)
	got := s.ambit(policy, "rbac", missing...)
	deployments := []string{"get", "list", "watch", "create", "patch", "delete"}
	want := result{Stdout: roleText(denied, s.home, account, ruleText("apps", "deployments", deployments...), ruleText("", "pods", "list", "watch"))}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("An owner in a namespace without rights: -want +got\n%s", diff)
	}
	table := s.ambit(policy, "access", "--service-account", account)
	wantTable := fmt.Sprintf(`Policy %s as system:serviceaccount:%s:ambit
NAMESPACE%s   MEMCACHEDS   MEMCACHEDS/STATUS   DEPLOYMENTS                             PODS
%s   ok           ok                  ok                                      ok
%s%s   ok           ok                  no get,list,watch,create,patch,delete   no list,watch
`, s.home, s.home, strings.Repeat(" ", len(allowed)-len("NAMESPACE")), allowed, denied, strings.Repeat(" ", len(allowed)-len(denied)))
	summary := "something is missing in 1 of 2 namespaces; with the same -f, --namespaces and cluster, this prints what to grant:\n" +
		"  ambit rbac --missing --service-account " + account + "\n"
	if diff := cmp.Diff(result{Code: 1, Stdout: wantTable, Stderr: summary}, table); diff != "" {
		t.Errorf("The same as a table: -want +got\n%s", diff)
	}

	s.apply([]byte(got.Stdout))
	s.until(nothingMissing, policy, "rbac", missing...)
	s.until(allGranted, policy, "access", "--service-account", account)

	roles := s.typed.RbacV1()
	if err := roles.RoleBindings(denied).Delete(t.Context(), "ambit-"+s.home, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	again := s.until(somethingMissing, policy, "rbac", missing...)
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("Without its binding: -want +got\n%s", diff)
	}
	s.apply([]byte(again.Stdout))
	s.until(nothingMissing, policy, "rbac", missing...)
}

// ruleText is a rule as it is printed.
func ruleText(group, resource string, verbs ...string) string {
	if group == "" {
		group = `""`
	}
	return fmt.Sprintf("- apiGroups:\n  - %s\n  resources:\n  - %s\n  verbs:\n  - %s\n", group, resource, strings.Join(verbs, "\n  - "))
}

// roleText is a Role with its binding as they are printed.
func roleText(namespace, policy, account string, rules ...string) string {
	head := "apiVersion: rbac.authorization.k8s.io/v1\nkind: %s\nmetadata:\n  labels:\n    app.kubernetes.io/instance: %[2]s\n" +
		"    app.kubernetes.io/managed-by: ambit\n    app.kubernetes.io/name: ambit\n  name: ambit-%[2]s\n  namespace: %[3]s\n"
	accountNamespace, accountName, _ := strings.Cut(account, "/")
	return fmt.Sprintf(head, "Role", policy, namespace) + "rules:\n" + strings.Join(rules, "") +
		"---\n" + fmt.Sprintf(head, "RoleBinding", policy, namespace) +
		"roleRef:\n  apiGroup: rbac.authorization.k8s.io\n  kind: Role\n  name: ambit-" + policy + "\n" +
		"subjects:\n- kind: ServiceAccount\n  name: " + accountName + "\n  namespace: " + accountNamespace + "\n"
}

// TestMissingKeeps: granting what is missing takes nothing away from a Role of
// that name, neither what the policy needs nor what somebody added.
func TestMissingKeeps(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place := s.policy(""), s.namespace("place")
	args := []string{"--user", "operator-" + s.home, "--own-namespace", s.home, "--namespaces", place}
	s.apply([]byte(s.ambit(policy, "rbac", args...).Stdout))
	missing := append([]string{"--missing"}, args...)
	s.until(nothingMissing, policy, "rbac", missing...)

	roles := s.typed.RbacV1().Roles(place)
	role, err := roles.Get(t.Context(), "ambit-"+s.home, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range role.Rules {
		if role.Rules[i].Resources[0] == "deployments" {
			role.Rules[i].Verbs = []string{"get", "list", "watch"}
		}
	}
	role.Rules = append(role.Rules, rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}})
	if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	got := s.until(somethingMissing, policy, "rbac", missing...)
	warning := fmt.Sprintf("warning: Role or binding %q in namespace %q holds more than policy %q needs: that stays in it\n", "ambit-"+s.home, place, s.home)
	if got.Stderr != warning {
		t.Errorf("stderr %q, want %q", got.Stderr, warning)
	}
	for _, rule := range []string{ruleText("apps", "deployments", "create", "patch", "delete"), ruleText("", "secrets", "get")} {
		if !strings.Contains(got.Stdout, rule) {
			t.Errorf("stdout lacks\n%s\n%s", rule, got.Stdout)
		}
	}
	s.apply([]byte(got.Stdout))
	s.until(nothingMissing, policy, "rbac", missing...)
}

// TestMissingAccount: a policy with an account of its own needs that account,
// its rights, and Ambit's right to act as it.
func TestMissingAccount(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place := s.policy("serviceAccountName: robot"), s.namespace("place")
	args := []string{"--missing", "--service-account", s.home + "/ambit", "--namespaces", place}
	got := s.ambit(policy, "rbac", args...)
	for text, count := range map[string]int{"kind: ServiceAccount\nmetadata": 2, "kind: Role\nmetadata": 2, "  - impersonate\n": 1, "  resourceNames:\n  - robot\n": 1} {
		if strings.Count(got.Stdout, text) != count {
			t.Errorf("%q is not there %d times:\n%s", text, count, got.Stdout)
		}
	}
	s.apply([]byte(got.Stdout))
	s.until(nothingMissing, policy, "rbac", args...)
	if err := s.typed.CoreV1().ServiceAccounts(s.home).Delete(t.Context(), "robot", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	got = s.ambit(policy, "rbac", args...)
	if strings.Count(got.Stdout, "kind: ") != 1 || !strings.Contains(got.Stdout, "  name: robot\n") {
		t.Errorf("With everything but the ServiceAccount: got\n%s", got.Stdout)
	}
}

// TestApplyTwice: the second time nothing changes; and what was printed is all
// that is needed, in the namespaces given, and nowhere else.
func TestApplyTwice(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place, other := s.policy(""), s.namespace("place"), s.namespace("other")
	printed := s.ambit(policy, "rbac", "--service-account", s.home+"/ambit", "--namespaces", place)
	var versions []string
	for range 2 {
		s.apply([]byte(printed.Stdout))
		role, err := s.typed.RbacV1().Roles(place).Get(t.Context(), "ambit-"+s.home, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, role.ResourceVersion)
	}
	if versions[0] != versions[1] {
		t.Errorf("Role has changed from %s to %s", versions[0], versions[1])
	}
	s.until(allGranted, policy, "access", "--service-account", s.home+"/ambit", "--namespaces", place)
	if got := s.ambit(policy, "access", "--service-account", s.home+"/ambit", "--namespaces", place+","+other); got.Code != 1 {
		t.Errorf("another namespace: %+v", got)
	}
	everything := s.ambit(policy, "rbac", "--service-account", s.home+"/ambit")
	s.apply([]byte(everything.Stdout))
	s.until(allGranted, policy, "access", "--service-account", s.home+"/ambit", "--namespaces", place+","+other)
	for _, name := range []string{"ambit-" + s.home} {
		if err := s.typed.RbacV1().ClusterRoleBindings().Delete(t.Context(), name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	}
}

// TestAccessShape is the documented shape of `ambit access -o json`, here for the
// caller itself, who has no right at all.
func TestAccessShape(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	place := s.namespace("place")
	got := s.ambit(s.policy(""), "access", "--namespaces", place, "-o", "json", "--own-namespace", s.home)
	if got.Code != 1 {
		t.Fatalf("%+v", got)
	}
	var parsed struct{ Access []map[string]any }
	if err := json.Unmarshal([]byte(got.Stdout), &parsed); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"policy": s.home, "user": "system:serviceaccount:" + s.home + ":caller", "namespace": place,
		"group": "cache.example.com", "resource": "memcacheds", "subresource": "status", "name": "",
		"neededBy": []any{"owner"}, "verbs": []any{"patch"}, "missing": []any{"patch"},
	}
	if len(parsed.Access) != 4 {
		t.Fatalf("%d entries, want 4:\n%s", len(parsed.Access), got.Stdout)
	}
	if diff := cmp.Diff(want, parsed.Access[1]); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

// TestCaller: what a caller without rights of an administrator gets to see.
func TestCaller(t *testing.T) {
	t.Parallel()
	rule := func(group, resource string, verbs ...string) rbacv1.PolicyRule {
		return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}
	}
	cases := map[string]struct {
		reason string
		rules  []rbacv1.PolicyRule
		args   []string
		code   int
		stderr []string
	}{
		"Reviews": {"Who may review others needs no other right.",
			[]rbacv1.PolicyRule{rule("authorization.k8s.io", "subjectaccessreviews", "create")},
			[]string{"--namespaces", "default", "--user", "nobody"}, 1, []string{"something is missing in 1 of 1 namespace"}},
		"Impersonates": {"Who may not review others may impersonate them.",
			[]rbacv1.PolicyRule{rule("", "users", "impersonate")},
			[]string{"--namespaces", "default", "--user", "nobody"}, 1, []string{"something is missing in 1 of 1 namespace"}},
		"Neither": {"Who may neither is told which rights would do, once.",
			nil, []string{"--namespaces", "default", "--user", "nobody"}, 3,
			[]string{"error: cannot find out what nobody may do: that takes the right to create subjectaccessreviews.authorization.k8s.io, or to impersonate: "}},
		"NoOwners": {"Who may not list owners is told how to do without.",
			nil, nil, 3, []string{"error: looking for owners of policy ", "(--namespaces names some): memcacheds.cache.example.com is forbidden"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, "", tc.rules...)
			got := s.until(func(r result) bool { return r.Code == tc.code }, s.policy(""), "access", append(tc.args, "--own-namespace", s.home)...)
			for _, want := range tc.stderr {
				if strings.Count(got.Stderr, want) != 1 {
					t.Errorf("%s stderr does not say once %q:\n%s", tc.reason, want, got.Stderr)
				}
			}
		})
	}
}

// TestBlind: who may not read Roles gets a Role with all that is needed, so that
// applying it takes nothing away.
func TestBlind(t *testing.T) {
	t.Parallel()
	s := newStage(t, "", rbacv1.PolicyRule{APIGroups: []string{"authorization.k8s.io"}, Resources: []string{"subjectaccessreviews"}, Verbs: []string{"create"}})
	want := s.ambit(s.policy(""), "rbac", "--user", "nobody", "--namespaces", "default", "--own-namespace", s.home)
	got := s.until(somethingMissing, s.policy(""), "rbac", "--missing", "--user", "nobody", "--namespaces", "default", "--own-namespace", s.home)
	if got.Stdout != want.Stdout || !strings.Contains(got.Stderr, "warning: cannot see what Role and binding ") {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestKindMissing: a kind that is not served is guessed, and has no owners.
func TestKindMissing(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy := []byte("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: absent}\nspec: {owner: {apiVersion: absent.example.com/v1, kind: Absent}}\n")
	got := s.until(func(r result) bool { return r.Code == 0 }, policy, "access")
	for _, want := range []string{
		"warning: the cluster does not serve kind Absent in absent.example.com/v1: taking its resource to be absents.absent.example.com, in namespaces\n",
		"warning: policy \"absent\" has no owners: --namespaces says where to look\n",
	} {
		if !strings.Contains(got.Stderr, want) {
			t.Errorf("stderr lacks %q:\n%s", want, got.Stderr)
		}
	}
}

// TestGuessedKinds holds what is known of Kubernetes' own kinds against what an
// API server serves.
func TestGuessedKinds(t *testing.T) {
	t.Parallel()
	client, err := discovery.NewDiscoveryClientForConfig(control.Cluster(t).Admin())
	if err != nil {
		t.Fatal(err)
	}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			t.Fatal(err)
		}
		for _, resource := range list.APIResources {
			gvk := gv.WithKind(resource.Kind)
			if strings.Contains(resource.Name, "/") || !scheme.Scheme.Recognizes(gvk) {
				continue
			}
			compared++
			want := rbac.Kind{Resource: schema.GroupResource{Group: gv.Group, Resource: resource.Name}, Namespaced: resource.Namespaced}
			if diff := cmp.Diff(want, rbac.GuessKind(gvk)); diff != "" {
				t.Errorf("%s: -served +guessed\n%s", gvk, diff)
			}
		}
	}
	if compared < 40 {
		t.Errorf("only %d kinds were compared", compared)
	}
}

// TestReviewsAgree: a right granted cluster-wide counts in each namespace, and
// each answer is that of the API server for this one question.
func TestReviewsAgree(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place := s.policy(""), s.namespace("place")
	s.apply(fmt.Appendf(nil, `
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all-%[1]s},
 rules: [{apiGroups: ["*"], resources: [pods], verbs: ["*"]}, {apiGroups: [apps], resources: [deployments], verbs: [get, patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: all-%[1]s},
 roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: all-%[1]s},
 subjects: [{kind: Group, apiGroup: rbac.authorization.k8s.io, name: "system:serviceaccounts:%[1]s"}]}
`, s.home))
	got := s.until(func(r result) bool { return strings.Contains(r.Stdout, "no list,watch,create,delete") }, policy,
		"access", "--service-account", s.home+"/ambit", "--namespaces", place)
	if !strings.Contains(got.Stdout, "no list,watch,create,delete   ok\n") {
		t.Errorf("Pods are granted to the account's group in all namespaces:\n%s", got.Stdout)
	}
	review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: place}}
	review.Spec.User, review.Spec.Groups = "system:serviceaccount:"+s.home+":ambit", []string{"system:serviceaccounts:" + s.home}
	review.Spec.ResourceAttributes = &authorizationv1.ResourceAttributes{Namespace: place, Verb: "list", Resource: "pods"}
	answer, err := s.typed.AuthorizationV1().LocalSubjectAccessReviews(place).Create(t.Context(), review, metav1.CreateOptions{})
	if err != nil || !answer.Status.Allowed {
		t.Errorf("the API server says %v, %v", answer, err)
	}
	if err := s.typed.RbacV1().ClusterRoleBindings().Delete(t.Context(), "all-"+s.home, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
		t.Error(err)
	}
}
