package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// clusterRoleText is a ClusterRole with its binding as they are printed.
func clusterRoleText(policy, account string, rules ...string) string {
	text := roleText("", policy, account, rules...)
	text = strings.ReplaceAll(text, "\n  namespace: \n", "\n")
	for _, kind := range []string{"kind: Role\n", "kind: RoleBinding\n"} {
		text = strings.ReplaceAll(text, kind, strings.Replace(kind, "Role", "ClusterRole", 1))
	}
	return text
}

// withoutOwners is the warning that nobody finds owners.
func withoutOwners(s *stage) string {
	return fmt.Sprintf("warning: owners of policy %[1]q cannot be found: system:serviceaccount:%[1]s:ambit cannot list, watch memcacheds.cache.example.com in all namespaces, "+
		"and cannot list, watch namespaces to look in each: grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces\n", s.home)
}

// TestFindOwners: all rights in the only namespace with owners are not enough for
// a policy that no namespace limits: its owners have to be found.
func TestFindOwners(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, account, place := s.policy(""), s.home+"/ambit", s.namespace("place")
	s.owner(place, 1)
	s.apply([]byte(s.ambit(policy, "rbac", "--service-account", account, "--namespaces", place).Stdout))
	s.until(allGranted, policy, "access", "--service-account", account, "--namespaces", place)

	got := s.ambit(policy, "access", "--service-account", account)
	width := strings.Repeat(" ", len(place)-len("NAMESPACE"))
	want := result{Code: 1, Stdout: fmt.Sprintf(`Policy %s as system:serviceaccount:%s:ambit
NAMESPACE%s   MEMCACHEDS      MEMCACHEDS/STATUS   DEPLOYMENTS   PODS
<all>    %s   no list,watch   <none>              <none>        <none>
%s   ok              ok                  ok            ok
`, s.home, s.home, width, width, place), Stderr: withoutOwners(s) + "something is missing cluster-wide; with the same -f, --namespaces and cluster, this prints what to grant:\n" +
		"  ambit rbac --missing --service-account " + account + "\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("As a table: -want +got\n%s", diff)
	}
	var parsed struct{ Access []map[string]any }
	if got = s.ambit(policy, "access", "--service-account", account, "-o", "json"); json.Unmarshal([]byte(got.Stdout), &parsed) != nil || got.Code != 1 || len(parsed.Access) != 5 {
		t.Fatalf("As JSON: %+v", got)
	}
	if entry := parsed.Access[0]; entry["namespace"] != "" || entry["resource"] != "memcacheds" || !cmp.Equal(entry["missing"], []any{"list", "watch"}) {
		t.Errorf("The first entry is %v", entry)
	}

	missing := s.ambit(policy, "rbac", "--missing", "--service-account", account)
	want = result{Stdout: clusterRoleText(s.home, account, ruleText("cache.example.com", "memcacheds", "list", "watch")), Stderr: withoutOwners(s)}
	if diff := cmp.Diff(want, missing); diff != "" {
		t.Errorf("What to grant: -want +got\n%s", diff)
	}
	s.apply([]byte(missing.Stdout))
	s.until(nothingMissing, policy, "rbac", "--missing", "--service-account", account)
	s.until(allGranted, policy, "access", "--service-account", account)

	s.otherWay(policy, account)
}

// otherWay takes the right to list and watch owners away, and gives the one to
// list and watch namespaces.
func (s *stage) otherWay(policy []byte, account string) {
	s.Helper()
	if err := s.typed.RbacV1().ClusterRoleBindings().Delete(s.Context(), "ambit-"+s.home, metav1.DeleteOptions{}); err != nil {
		s.Fatal(err)
	}
	s.until(somethingMissing, policy, "rbac", "--missing", "--service-account", account)
	text := clusterRoleText(s.home, account, ruleText("", "namespaces", "list", "watch"))
	s.apply([]byte(strings.ReplaceAll(text, "name: ambit-", "name: look-")))
	s.until(nothingMissing, policy, "rbac", "--missing", "--service-account", account)
	s.until(allGranted, policy, "access", "--service-account", account)
}

// TestFindOwnersFirst: for an account without any right, what is granted
// cluster-wide is not granted again in each namespace.
func TestFindOwnersFirst(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, account, place := s.policy(""), s.home+"/fresh", s.namespace("place")
	s.owner(place, 1)
	got := s.ambit(policy, "rbac", "--missing", "--service-account", account)
	want := clusterRoleText(s.home, account, ruleText("cache.example.com", "memcacheds", "list", "watch")) + "---\n" +
		roleText(place, s.home, account, ruleText("cache.example.com", "memcacheds/status", "patch"),
			ruleText("apps", "deployments", "get", "list", "watch", "create", "patch", "delete"), ruleText("", "pods", "list", "watch"))
	_, objects, _ := strings.Cut(got.Stdout, "---\n") // after the ServiceAccount
	if diff := cmp.Diff(want, objects); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	s.apply([]byte(got.Stdout))
	s.until(nothingMissing, policy, "rbac", "--missing", "--service-account", account)
}

// TestWatchRBAC: the right to watch RBAC is for Ambit's own account, not for a
// policy's; once granted it is not missing.
func TestWatchRBAC(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place := s.policy("serviceAccountName: robot"), s.namespace("place")
	args := []string{"--missing", "--service-account", s.home + "/ambit", "--namespaces", place}
	s.apply([]byte(s.ambit(policy, "rbac", args...).Stdout))
	s.until(nothingMissing, policy, "rbac", args...)

	args = append(args, "--watch-rbac")
	got := s.ambit(policy, "rbac", args...)
	t.Cleanup(func() { // it is the same object in each run of the test
		if err := s.typed.RbacV1().ClusterRoleBindings().Delete(context.Background(), "ambit:watch-rbac", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	for text, count := range map[string]int{"kind: ": 4, "kind: ClusterRole\n": 2, "name: ambit:watch-rbac\n": 3, "- kind: ServiceAccount\n  name: ambit\n  namespace: " + s.home + "\n": 1} {
		if strings.Count(got.Stdout, text) != count {
			t.Errorf("%q is not there %d times:\n%s", text, count, got.Stdout)
		}
	}
	s.apply([]byte(got.Stdout))
	s.until(nothingMissing, policy, "rbac", args...)
}
