package cli_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// findings are what `ambit leftovers -o json` says, a line each.
func (c *cleaned) findings(r result) string {
	c.Helper()
	var parsed struct{ Leftovers []map[string]string }
	if err := json.Unmarshal([]byte(r.Stdout), &parsed); err != nil {
		c.Fatalf("%v\n%s%s", err, r.Stdout, r.Stderr)
	}
	var lines strings.Builder
	for _, l := range parsed.Leftovers {
		if _, name, _ := strings.Cut(l["policy"], "."); name == c.name { // after its namespace
			fmt.Fprintf(&lines, "%s %s %s/%s: %s\n", l["finding"], l["kind"], l["namespace"], l["name"], l["why"])
		}
	}
	return strings.NewReplacer(c.near, "near", c.away, "away", c.name, "name").Replace(lines.String())
}

// everything runs the command without -f, in a process of its own: the libraries write to
// stderr by themselves.
func (c *cleaned) everything(args ...string) result {
	c.Helper()
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(c.Context(), "ambit", append([]string{"leftovers", "--kubeconfig", c.kubeconfig}, args...)...)
	cmd.Stdout, cmd.Stderr = &out, &errOut
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		c.Fatal(err)
	}
	return result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errOut.String()}
}

// The findings about what newCleaned makes.
const (
	elsewhereFinding = "Child ConfigMap away/away: no ownerReference ties it to its owner: it would stay; Memcached near/cache has it on record\n"
	nearFindings     = "Finalizer Memcached near/cache: it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off; on record: 2 objects made, 1 merged into\n" +
		"Child Secret near/kept: Memcached near/cache has it on record, to be left behind: onDelete is Orphan\n" +
		"Fields ServiceAccount near/lent: it would keep the fields that the policy has merged into it\n"
	ensuredFinding = "Ensured ClusterRole /name-made: it was made for the policy itself, and would stay\n"
)

// sortedFindings are all of them, in the order of namespaces, which have random names.
func (c *cleaned) sortedFindings() string {
	if c.away < c.near {
		return ensuredFinding + elsewhereFinding + nearFindings
	}
	return ensuredFinding + nearFindings + elsewhereFinding
}

// TestLeftovers: one of each is found by someone who may only list, and what garbage
// collection takes is none.
func TestLeftovers(t *testing.T) {
	c := newCleaned(t)
	limited := newStage(t, "", rbacv1.PolicyRule{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"list"}})
	admin := c.kubeconfig
	c.kubeconfig = limited.kubeconfig
	someFound := func(r result) bool { return r.Code == 1 && !strings.Contains(strings.ToLower(r.Stderr), "warning: ") }

	for reason, r := range map[string]result{
		"Of the policy.":  c.until(someFound, c.text, "leftovers", "-o", "json"),
		"Of every policy": c.everything("-o", "json"),
	} {
		if diff := cmp.Diff(c.sortedFindings(), c.findings(r)); diff != "" || !someFound(r) {
			t.Errorf("%s exit code %d, -want +got\n%s%s", reason, r.Code, diff, r.Stderr)
		}
	}
	if r := c.ambit(c.text, "leftovers", "-n", c.away, "-o", "json"); c.findings(r) != strings.Replace(elsewhereFinding, "Memcached near/cache has", "no owner that was seen has", 1) || r.Code != 1 {
		t.Errorf("In a namespace, exit code %d\n%s", r.Code, c.findings(r))
	}
	broken := []byte(strings.Replace(string(c.text), "spec:\n", "spec:\n  status: {size: \"${onwer.spec.size}\"}\n", 1))
	if r := c.ambit(broken, "leftovers", "-n", c.near, "-o", "json"); c.findings(r) != nearFindings || r.Code != 1 {
		t.Errorf("Of a policy with mistakes, what is on record: exit code %d\n%s%s", r.Code, c.findings(r), r.Stderr)
	}
	if r := c.ambit(c.text, "leftovers", "-n", c.home); r.Code != 0 || r.Stdout != "" || r.Stderr != fmt.Sprintf("nothing would be left in namespace %q\n", c.home) {
		t.Errorf("Where nothing is: %+v", r)
	}

	c.kubeconfig = admin
	if r := c.ambit(c.text, "cleanup", "--timeout", "1m"); r.Code != 0 {
		t.Fatalf("exit code %d\n%s%s", r.Code, r.Stdout, r.Stderr)
	}
	want := "Child Secret near/kept: no ownerReference ties it to its owner: it would stay; no owner that was seen has it on record\n"
	if r := c.ambit(c.text, "leftovers", "-o", "json"); c.findings(r) != want {
		t.Errorf("After a cleanup: exit code %d\n%s", r.Code, c.findings(r))
	}
}

// TestLeftoversPolicy: a policy in the cluster that nobody could delete.
func TestLeftoversPolicy(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	s.apply([]byte(strings.Replace(string(s.policy("")), "metadata: {", "metadata: {finalizers: [ambit.dev/cleanup], ", 1)))
	got := s.until(func(r result) bool { return r.Code == 1 }, s.policy(""), "leftovers")
	want := fmt.Sprintf("NAMESPACE KIND NAME POLICY FINDING WHY "+
		"%[1]s ReconcilePolicy %[1]s %[1]s.%[1]s Finalizer it could not be deleted: only Ambit takes its finalizer ambit.dev/cleanup off", s.home)
	if diff := cmp.Diff(want, strings.Join(strings.Fields(got.Stdout), " ")); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if want := "1 finding; `ambit cleanup -f POLICY` removes what a policy has made, and the finalizer of a ReconcilePolicy that is being deleted; " +
		"delete the ReconcilePolicies first, with `kubectl delete --wait=false` if no Ambit runs\n"; got.Stderr != want {
		t.Errorf("stderr is %q, want %q", got.Stderr, want)
	}
}

// TestLeftoversDenied: what may not be listed is said, and nothing is concluded from it.
func TestLeftoversDenied(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	place := s.namespace("place")
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "look"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps", "cache.example.com", "ambit.dev"}, Resources: []string{"*"}, Verbs: []string{"list"}},
	}}
	if _, err := s.typed.RbacV1().Roles(place).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "look"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "look"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.home, Name: "caller"}},
	}
	if _, err := s.typed.RbacV1().RoleBindings(place).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.until(func(r result) bool { return r.Code == 0 }, s.policy(""), "leftovers", "-n", place)
	got := s.ambit(s.policy(""), "leftovers")
	want := result{Code: 3, Stderr: "warning: not looked at, because you may not list it in all namespaces: reconcilepolicies.ambit.dev, deployments.apps, memcacheds.cache.example.com\n" +
		"error: nothing was found, but not all could be looked at\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}
