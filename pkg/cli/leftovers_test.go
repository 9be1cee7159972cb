package cli

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/uninstall"
)

func TestLeftoversPrint(t *testing.T) {
	l := uninstall.Leftovers{Findings: []uninstall.Finding{
		{Type: uninstall.TypeEnsured, Policy: "web", APIVersion: "rbac.authorization.k8s.io/v1", Kind: "ClusterRole", Name: "web-viewer", Why: "it would stay"},
		{Type: uninstall.TypeFinalizer, APIVersion: "example.com/v1", Kind: "App", Namespace: "team-a", Name: "shop", Why: "it is stuck"},
	}, Unseen: []uninstall.Unseen{{Resource: "secrets", Why: "refused", Denied: true}}}
	cases := map[string]struct{ reason, format, want string }{
		"Table": {"Aligned as kubectl does; what is empty is shown.", "table", `NAMESPACE   KIND          NAME         POLICY      FINDING     WHY
<none>      ClusterRole   web-viewer   web         Ensured     it would stay
team-a      App           shop         <unknown>   Finalizer   it is stuck
`},
		"YAML": {"All fields are there, empty or not.", "yaml", `leftovers:
- apiVersion: rbac.authorization.k8s.io/v1
  finding: Ensured
  kind: ClusterRole
  name: web-viewer
  namespace: ""
  policy: web
  why: it would stay
- apiVersion: example.com/v1
  finding: Finalizer
  kind: App
  name: shop
  namespace: team-a
  policy: ""
  why: it is stuck
unseen:
- group: ""
  resource: secrets
  why: refused
`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printLeftovers(&out, tc.format, l); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, out.String()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
	var out bytes.Buffer
	if err := printLeftovers(&out, "json", uninstall.Leftovers{}); err != nil || out.String() != "{\n  \"leftovers\": [],\n  \"unseen\": []\n}\n" {
		t.Errorf("Nothing is two empty lists: %v\n%s", err, &out)
	}
}

func TestLeftoversConclude(t *testing.T) {
	one := []uninstall.Finding{{Type: uninstall.TypeFinalizer}}
	hidden := []uninstall.Unseen{{Group: "apps", Resource: "deployments", Denied: true}, {Resource: "secrets", Denied: true}}
	const warned = "warning: not looked at, because you may not list it in all namespaces: deployments.apps, secrets\n"
	cases := map[string]struct {
		reason string
		found  uninstall.Leftovers
		code   int
		stderr string
	}{
		"Nothing":    {"Nothing is said, too.", uninstall.Leftovers{}, exitOK, "nothing would be left in all namespaces\n"},
		"Something":  {"It says what to type.", uninstall.Leftovers{Findings: one}, exitFindings, "1 finding; `ambit cleanup -f POLICY` removes what a policy has made\n"},
		"Incomplete": {"Nothing that was seen is not nothing.", uninstall.Leftovers{Unseen: hidden}, exitCluster, warned},
		"Both":       {"Findings are findings, whatever else there is.", uninstall.Leftovers{Findings: one, Unseen: hidden}, exitFindings, warned + "1 finding; `ambit cleanup -f POLICY` removes what a policy has made\n"},
		"Broken":     {"A group whose server is away is named.", uninstall.Leftovers{Unseen: []uninstall.Unseen{{Group: "metrics.k8s.io", Why: "no answer"}}}, exitCluster, "warning: cannot look at *.metrics.k8s.io: no answer\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var errOut bytes.Buffer
			o := &leftoversOptions{commandEnv: commandEnv{IOStreams: genericiooptions.IOStreams{ErrOut: &errOut}}, Program: "ambit"}
			code, _ := exitCode(o.concludeLeftovers(tc.found))
			if code != tc.code {
				t.Errorf("%s exit code %d, want %d", tc.reason, code, tc.code)
			}
			if diff := cmp.Diff(tc.stderr, errOut.String()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
