package cli_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestMissingApplied: of a policy in another namespace than Ambit's own, what is missing
// is what the running Ambit lacks: rights of an account there, for owners there, and the
// right to act as it. Owners in other namespaces are not its own.
func TestMissingApplied(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	ambit, place := s.namespace("ambit"), s.namespace("place")
	account, acting := ambit+"/ambit", "system:serviceaccount:"+s.home+":default"
	s.owner(place, 1)
	for name, extra := range map[string]string{"unnamed": "", "named": "serviceAccountName: default"} {
		policy := s.policy(extra)
		got := s.ambit(policy, "rbac", "--missing", "--service-account", account)
		want := roleText(s.home, s.home+"."+s.home, s.home+"/default", ruleText("cache.example.com", "memcacheds", "list", "watch"), ruleText("cache.example.com", "memcacheds/status", "patch"),
			ruleText("apps", "deployments", "get", "list", "watch", "create", "patch", "delete"), ruleText("", "pods", "list", "watch"))
		if !strings.Contains(got.Stdout, want) {
			t.Errorf("%s: there is no Role in the namespace of the policy: want\n%s\ngot\n%s", name, want, got.Stdout)
		}
		if strings.Contains(got.Stdout, "ClusterRole") || strings.Contains(got.Stdout, place) {
			t.Errorf("%s: rights elsewhere than in namespace %q:\n%s", name, s.home, got.Stdout)
		}
		if !strings.Contains(got.Stdout, "  - impersonate\n") {
			t.Errorf("%s: Ambit lacks the right to act as the account:\n%s", name, got.Stdout)
		}
		if note := fmt.Sprintf("note: policy %q is taken as applied to namespace %q: it acts as %s, for owners in that namespace; ", s.home, s.home, acting); strings.Count(got.Stderr, note) != 1 {
			t.Errorf("%s: stderr does not say once %q:\n%s", name, note, got.Stderr)
		}
		if table := s.ambit(policy, "access", "--service-account", account); table.Code != 1 || !strings.Contains(table.Stdout, "as "+acting+"\n") || strings.Contains(table.Stdout, place) {
			t.Errorf("%s: as a table: %+v", name, table)
		}
	}
	policy := s.policy("")
	s.apply([]byte(s.ambit(policy, "rbac", "--missing", "--service-account", account).Stdout))
	s.until(func(r result) bool { return r.Stdout == "" && strings.HasSuffix(r.Stderr, "\nnothing is missing\n") },
		policy, "rbac", "--missing", "--service-account", account)
	s.until(allGranted, policy, "access", "--service-account", account)
}
