package cli_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/cli"
)

// TestShippedInOwnNamespace: what the shipped policies do in the namespace of an Ambit that is
// installed elsewhere than in ambit-system. A policy that names that namespace leaves it out. So
// does one that does not, as long as nobody gives the namespace the label by which it would accept.
func TestShippedInOwnNamespace(t *testing.T) {
	for name, shipped := range map[string]struct {
		label string
		owner string // empty: the namespace itself
	}{
		"config-propagation": {
			label: "config-propagation.example.com/accept: 'true'",
			owner: "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: home, annotations: {config-propagation.example.com/namespaces: 'operators,team'}}}",
		},
		"secret-propagation": {
			label: "secret-propagation.example.com/accept: 'true'",
			owner: "{apiVersion: v1, kind: Secret, type: Opaque, metadata: {name: settings, namespace: home, annotations: {secret-propagation.example.com/namespaces: 'operators,team'}}}",
		},
		"capsule-tenant": {
			label: "tenancy.example.com/tenant: oil",
			owner: "{apiVersion: tenancy.example.com/v1alpha1, kind: Tenant, metadata: {name: oil}, spec: {owners: [{kind: User, name: alice}], limitRange: {limits: [{type: Container, max: {cpu: '1'}}]}}}",
		},
		"namespace-defaults": {label: "namespace-defaults.example.com/quota: small"},
	} {
		for _, c := range []struct {
			reason         string
			named, labeled bool
			want           bool
		}{
			{"the policy names the namespace", true, true, false},
			{"nobody has labelled the namespace", false, false, false},
			{"an administrator has labelled the namespace, and the policy names another one", false, true, true},
		} {
			t.Run(name+"/"+c.reason, func(t *testing.T) {
				text, err := os.ReadFile("../../policies/" + name + ".yaml")
				if err != nil {
					t.Fatal(err)
				}
				policy := string(text)
				if c.named {
					policy = strings.ReplaceAll(strings.ReplaceAll(policy, "namespace: ambit-system}", "namespace: operators}"), "[ambit-system]", "[operators]")
				}
				own := map[bool]string{true: shipped.label}[c.labeled]
				operators, team := labelledNamespace("operators", own), labelledNamespace("team", shipped.label)
				owner := shipped.owner
				if owner == "" {
					owner = operators
				}
				if got := writesTo(t, policy, owner, operators+team, "operators"); got != c.want {
					t.Errorf("something is made in Ambit's namespace: %t", got)
				}
				if shipped.owner != "" && !writesTo(t, policy, owner, operators+team, "team") {
					t.Error("nothing is made in the namespace beside it")
				}
			})
		}
	}
}

func labelledNamespace(name, label string) string {
	return fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s, labels: {kubernetes.io/metadata.name: %[1]s, %s}}}\n---\n", name, label)
}

// writesTo reports whether a plan for the owner makes something in a namespace.
func writesTo(t *testing.T, policy, owner, observed, namespace string) bool {
	t.Helper()
	folder := t.TempDir()
	files := map[string]string{"policy": policy, "owner": owner, "observed": observed}
	for name, text := range files {
		files[name] = filepath.Join(folder, name+".yaml")
		if err := os.WriteFile(files[name], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var out, said bytes.Buffer
	args := []string{"ambit", "render", "-f", files["policy"], "--owner", files["owner"], "--observed", files["observed"], "-o", "plan"}
	if code := cli.Main(t.Context(), args, genericiooptions.IOStreams{In: strings.NewReader(""), Out: &out, ErrOut: &said}); code > 1 {
		t.Fatalf("exit code %d\n%s%s", code, out.String(), said.String())
	}
	return strings.Contains(out.String(), "namespace: "+namespace)
}
