package rbac

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected grants in testdata")

// request is the second part of a case, as YAML.
type request struct {
	// Own is Ambit itself; not given: ServiceAccount ambit-system/ambit.
	Own *Subject
	// Namespaces, Elsewhere, Searched, FindOwners, OwnersEverywhere, Finalizers and ByName are
	// those of Request; the word everywhere stands for Everywhere. Elsewhere and Searched are
	// the Namespaces where they are not given.
	Namespaces       []string
	Elsewhere        []string
	Searched         []string
	FindOwners       bool
	OwnersEverywhere bool
	Finalizers       bool
	ByName           bool
	// ClusterScoped are kinds that have no namespaces, beside those of Kubernetes.
	ClusterScoped []string
	// Granted are checks with the answer yes, as `namespace: verb resource`; not
	// given: nothing is asked.
	Granted []string
	// Present is what every Role and binding holds already.
	Present Present
}

// TestGrants runs the cases in testdata. A file starts with a sentence that says
// what it is about. Then come, as a txtar file, `policy`, its spec, and
// `request`. After a line `----` stand the objects that follow, one a paragraph.
func TestGrants(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runCase(t, file) })
	}
}

func runCase(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	input, want, _ := strings.Cut(string(data), "\n----\n")
	archive := txtar.Parse([]byte(input + "\n"))
	if len(archive.Files) != 2 {
		t.Fatalf("%d parts, want policy and request", len(archive.Files))
	}
	var r request
	if err := yaml.UnmarshalStrict(archive.Files[1].Data, &r); err != nil {
		t.Fatal(err)
	}
	got := r.run(t.Context(), compile(t, string(archive.Files[0].Data)))
	if *rewrite {
		if err := os.WriteFile(file, []byte(input+"\n----\n"+got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" && !*rewrite {
		t.Errorf("%s-want +got\n%s", archive.Comment, diff)
	}
}

func compile(t testing.TB, spec string) *policy.Program {
	t.Helper()
	text := "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: cache, namespace: team-x}\nspec:\n"
	for line := range strings.Lines(spec) {
		text += "  " + line
	}
	documents, err := syntax.Parse("policy.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("parsing a policy: %v\n%s", err, text)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatalf("compiling a policy: %v\n%s", err, text)
	}
	return program
}

// run returns the text of what is needed, or of what of it is lacking.
func (r request) run(ctx context.Context, program *policy.Program) string {
	own := Subject{Namespace: "ambit-system", Name: "ambit"}
	if r.Own != nil {
		own = *r.Own
	}
	grants, remarks := NeededGrants(ctx, Request{
		Program: program, Kind: r.kind, Own: own, OwnNamespace: "team-x", Namespaces: places(r.Namespaces),
		Elsewhere: places(r.Elsewhere, r.Namespaces...), Searched: places(r.Searched, r.Namespaces...),
		FindOwners: r.FindOwners, OwnersEverywhere: r.OwnersEverywhere, Finalizers: r.Finalizers, ByName: r.ByName,
	})
	var b strings.Builder
	for _, remark := range remarks {
		fmt.Fprintf(&b, "# %s\n", remark)
	}
	for _, account := range ServiceAccounts(grants) {
		fmt.Fprintf(&b, "ServiceAccount %s/%s\n", account.Namespace, account.Name)
	}
	for _, g := range grants {
		if r.Granted != nil {
			g = g.LackingVerbs(r.isGranted)
		}
		if len(g.Rules) > 0 {
			describe(&b, g.GrantObjects(r.Present))
		}
	}
	return b.String()
}

// kind is a guess, but for the kinds that the request knows.
func (r request) kind(gvk schema.GroupVersionKind) Kind {
	kind := GuessKind(gvk)
	kind.Namespaced = kind.Namespaced && !slices.Contains(r.ClusterScoped, gvk.Kind)
	return kind
}

// places are the namespaces that the words stand for, or the words in their place.
func places(words []string, others ...string) []string {
	if words == nil {
		words = others
	}
	places := slices.Clone(words)
	for i, word := range words {
		if word == "everywhere" {
			places[i] = Everywhere
		}
	}
	return places
}

// isGranted answers a check from the list of the request.
func (r request) isGranted(c Check) bool {
	resource := Rule{Resource: c.Resource, Subresource: c.Subresource}.resourcePath()
	return slices.Contains(r.Granted, fmt.Sprintf("%s: %s %s", c.Namespace, c.Verb, resource))
}

// describe writes a Role with its binding.
func describe(b *strings.Builder, objects []runtime.Object) {
	for _, object := range objects {
		switch o := object.(type) {
		case *rbacv1.Role:
			fmt.Fprintf(b, "\nRole %s/%s\n", o.Namespace, o.Name)
			describeRules(b, o.Rules)
		case *rbacv1.ClusterRole:
			fmt.Fprintf(b, "\nClusterRole %s\n", o.Name)
			describeRules(b, o.Rules)
		case *rbacv1.RoleBinding:
			describeBinding(b, o.RoleRef, o.Subjects)
		case *rbacv1.ClusterRoleBinding:
			describeBinding(b, o.RoleRef, o.Subjects)
		}
	}
}

func describeRules(b *strings.Builder, rules []rbacv1.PolicyRule) {
	for _, r := range rules {
		fmt.Fprintf(b, "  %s of %q: %s", strings.Join(r.Resources, ","), strings.Join(r.APIGroups, ","), strings.Join(r.Verbs, ","))
		if len(r.ResourceNames) > 0 {
			fmt.Fprintf(b, " on %s only", strings.Join(r.ResourceNames, ","))
		}
		fmt.Fprintln(b)
	}
}

func describeBinding(b *strings.Builder, role rbacv1.RoleRef, subjects []rbacv1.Subject) {
	for _, s := range subjects {
		fmt.Fprintf(b, "  %s %s is for %s %s\n", role.Kind, role.Name, s.Kind, strings.TrimPrefix(s.Namespace+"/"+s.Name, "/"))
	}
}
