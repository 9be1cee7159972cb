package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"
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
				IOStreams: genericiooptions.IOStreams{In: strings.NewReader(all), Out: &bytes.Buffer{}, ErrOut: &said}}
			programs, err := o.load()
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
