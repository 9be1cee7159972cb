package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/uninstall"
)

// TestCleanupIdentity: a policy of a tenant is cleaned up after as an account of the tenant,
// where the tenant's policies are served; as the caller only if that is said.
func TestCleanupIdentity(t *testing.T) {
	const account = "\n  serviceAccountName: robot"
	text := func(name, namespace, more string) string {
		return "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: " + name + namespace + "}\nspec:" + more +
			"\n  owner: {apiVersion: example.com/v1, kind: Kind" + strings.ToUpper(name) + "}\n---\n"
	}
	all := text("a", "", "") + text("b", ", namespace: ambit-system", "") + text("c", ", namespace: ambit-system", account) +
		text("d", ", namespace: team", "") + text("e", ", namespace: team", account)
	const here, there = "system:serviceaccount:ambit-system:robot", "system:serviceaccount:team:"
	for name, c := range map[string]struct {
		reason   string
		asCaller bool
		want     []string // identity and namespaces of each
	}{
		"AsInTheCluster": {reason: "tenants have no right of the caller", want: []string{"", "", here, there + "default team", there + "robot team"}},
		"AsCaller":       {reason: "the caller has said so", asCaller: true, want: []string{"", "", "", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			o := cleanupOptions{Files: []string{"-"}, Namespace: "ambit-system", AsCaller: c.asCaller,
				commandEnv: commandEnv{IOStreams: genericiooptions.IOStreams{In: strings.NewReader(all), Out: &bytes.Buffer{}, ErrOut: &said}}}
			programs, err := o.loadPolicies()
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, p := range programs {
				got = append(got, strings.TrimSpace(p.Identity()+" "+strings.Join(p.Namespaces, ",")))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			for i, is := range c.want {
				account, _, _ := strings.Cut(is, " ")
				if says := strings.Contains(said.String(), `policy "`+string("abcde"[i])+`" acts as `+account); says != (account != "") {
					t.Errorf("stderr does not say as whom: %s", said.String())
				}
			}
		})
	}
}

// TestCleanupState: before anything is counted no number is said, and what is in the way is
// said once, if it is not the result.
func TestCleanupState(t *testing.T) {
	const line = `cannot clean up: policy "web": ServiceAccountMissing: no account`
	blockers := []uninstall.Finding{{Policy: "web", Why: "ServiceAccountMissing: no account"}}
	var s cleanupState
	for i, step := range []struct {
		left    int
		blocked []uninstall.Finding
		final   bool
		want    string
	}{
		{want: "looking for what is left to clean up"},
		{left: 3, want: "3 left to clean up"},
		{blocked: blockers, want: line},
		{blocked: blockers},
		{left: 1, blocked: blockers, want: "1 left to clean up"},
		{left: 1, want: "1 left to clean up"},
		{left: 1, blocked: blockers, want: "1 left to clean up\n" + line},
		{blocked: blockers, final: true},
	} {
		s.setProgress(uninstall.Progress{Left: step.left, Blocked: step.blocked, Final: step.final})
		if got := s.nextMessage(); got != step.want {
			t.Errorf("step %d: it says %q, want %q", i, got, step.want)
		}
	}
	var hopeless cleanupState
	if hopeless.setProgress(uninstall.Progress{Blocked: blockers, Final: true}); hopeless.nextMessage() != "" {
		t.Error("what is about to be the result is said before")
	}
}
