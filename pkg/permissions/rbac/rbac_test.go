package rbac

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func TestSubject(t *testing.T) {
	cases := map[string]struct {
		reason  string
		subject Subject
		user    string
		groups  []string
	}{
		"Account": {"A ServiceAccount is in the groups that Kubernetes gives it.", Subject{"ns", "robot"}, "system:serviceaccount:ns:robot",
			[]string{"system:serviceaccounts", "system:serviceaccounts:ns", "system:authenticated"}},
		"User": {"Of a user only one group is known.", Subject{Name: "alice"}, "alice", []string{"system:authenticated"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.subject.UserName(); got != tc.user {
				t.Errorf("%s User() = %q, want %q", tc.reason, got, tc.user)
			}
			if diff := cmp.Diff(tc.groups, tc.subject.ImpliedGroups()); diff != "" {
				t.Errorf("%s Groups(): -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWatching(t *testing.T) {
	var b strings.Builder
	objects := WatchingGrant(Subject{Namespace: "ambit-system", Name: "ambit"}).GrantObjects(Present{})
	describe(&b, objects)
	want := `
ClusterRole ambit:watch-rbac
  roles of "rbac.authorization.k8s.io": list,watch
  rolebindings of "rbac.authorization.k8s.io": list,watch
  clusterroles of "rbac.authorization.k8s.io": list,watch
  clusterrolebindings of "rbac.authorization.k8s.io": list,watch
  ClusterRole ambit:watch-rbac is for ServiceAccount ambit-system/ambit
`
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	labels := map[string]string{"app.kubernetes.io/name": "ambit", "app.kubernetes.io/managed-by": "ambit"}
	if diff := cmp.Diff(labels, objects[0].(*rbacv1.ClusterRole).Labels); diff != "" {
		t.Errorf("It belongs to no policy: -want +got\n%s", diff)
	}
}

func TestNamespaces(t *testing.T) {
	cases := map[string]struct {
		reason               string
		scope, exclude, from []string
		selects              bool
		want                 []string
		limited              bool
	}{
		"Nothing":  {reason: "Nothing limits a policy for everything.", exclude: []string{"x"}},
		"Scope":    {reason: "The policy's own scope limits it.", scope: []string{"a", "b"}, want: []string{"a", "b"}, limited: true},
		"Process":  {reason: "The namespaces of the process limit it.", from: []string{"b", "a", "b"}, want: []string{"a", "b"}, limited: true},
		"Both":     {reason: "What both name is left.", scope: []string{"a", "b"}, from: []string{"b", "c"}, want: []string{"b"}, limited: true},
		"Disjoint": {reason: "A policy may have nothing to do, which is a limit too.", scope: []string{"a"}, from: []string{"b"}, want: []string{}, limited: true},
		"Exclude":  {reason: "What is excluded is left out.", exclude: []string{"a"}, from: []string{"a", "b"}, want: []string{"b"}, limited: true},
		"Labels":   {reason: "What labels select is not known.", scope: []string{"a"}, selects: true},
		"LabelsIn": {reason: "Labels may select each namespace of the process.", scope: []string{"a"}, selects: true, from: []string{"b"}, want: []string{"b"}, limited: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			program := &policy.Program{Namespaces: tc.scope, Exclude: tc.exclude}
			if tc.selects {
				program.NamespaceSelector = labels.Everything()
			}
			got, limited := LimitNamespaces(program, tc.from)
			if diff := cmp.Diff(tc.want, got); diff != "" || limited != tc.limited {
				t.Errorf("%s limited %t, want %t; -want +got\n%s", tc.reason, limited, tc.limited, diff)
			}
		})
	}
}

func TestGuess(t *testing.T) {
	cases := map[string]struct {
		reason string
		gvk    schema.GroupVersionKind
		want   Kind
	}{
		"Plural":     {"Most kinds take an s.", gvk("apps", "Deployment"), kind("apps", "deployments", true)},
		"Ies":        {"A y becomes ies.", gvk("networking.k8s.io", "NetworkPolicy"), kind("networking.k8s.io", "networkpolicies", true)},
		"Endpoints":  {"Endpoints are plural already.", gvk("", "Endpoints"), kind("", "endpoints", true)},
		"Cluster":    {"Some have no namespace.", gvk("", "Namespace"), kind("", "namespaces", false)},
		"OtherGroup": {"The same name in another group is another kind.", gvk("example.com", "Namespace"), kind("example.com", "namespaces", true)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, GuessKind(tc.gvk)); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func gvk(group, name string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: "v1", Kind: name}
}

func kind(group, resource string, namespaced bool) Kind {
	return Kind{Resource: schema.GroupResource{Group: group, Resource: resource}, Namespaced: namespaced}
}

func TestFromDefinition(t *testing.T) {
	cases := map[string]struct {
		reason, text string
		defines      schema.GroupKind
		want         Kind
		fails        string
	}{
		"Namespaced": {"The plural is what the definition says.",
			`{metadata: {name: x}, spec: {group: example.com, scope: Namespaced, names: {kind: Mouse, plural: mice}}}`,
			schema.GroupKind{Group: "example.com", Kind: "Mouse"}, kind("example.com", "mice", true), ""},
		"Cluster": {"The scope too.",
			`{metadata: {name: x}, spec: {group: example.com, scope: Cluster, names: {kind: Moon, plural: moons}}}`,
			schema.GroupKind{Group: "example.com", Kind: "Moon"}, kind("example.com", "moons", false), ""},
		"Nameless": {"What is missing is named.", `{metadata: {name: x}, spec: {group: example.com, scope: Cluster}}`,
			schema.GroupKind{}, Kind{}, `reading CustomResourceDefinition "x": [spec names kind] is missing`},
		"Wrong": {"A wrong type is no panic.", `{metadata: {name: x}, spec: 7}`, schema.GroupKind{}, Kind{}, `accessor error`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			definition := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(tc.text), &definition.Object); err != nil {
				t.Fatal(err)
			}
			defines, got, err := FromDefinition(definition)
			if (err != nil) != (tc.fails != "") || err != nil && !strings.Contains(err.Error(), tc.fails) {
				t.Errorf("%s error %v, want %q", tc.reason, err, tc.fails)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || defines != tc.defines {
				t.Errorf("%s defines %v, want %v; -want +got\n%s", tc.reason, defines, tc.defines, diff)
			}
		})
	}
}

func TestExceeds(t *testing.T) {
	program := compile(t, "owner: {apiVersion: example.com/v1, kind: Cache}\nwatches: [{id: pods, apiVersion: v1, kind: Pod}]")
	own := Subject{Namespace: "ambit-system", Name: "ambit"}
	grants, _ := NeededGrants(t.Context(), Request{Program: program, Kind: GuessKind, Own: own, Namespaces: []string{"a"}})
	rule := func(group, resource string, verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{group}, Resources: []string{resource}, Verbs: verbs}}
	}
	cases := map[string]struct {
		reason  string
		present Present
		want    bool
	}{
		"Nothing":   {"What is not there exceeds nothing.", Present{}, false},
		"Same":      {"What the grant itself says is not more.", Present{Rules: rule("", "pods", "watch", "list"), Subjects: []rbacv1.Subject{own.bindingSubject()}}, false},
		"Verb":      {"Another verb is more.", Present{Rules: rule("", "pods", "list", "delete")}, true},
		"Resource":  {"Another resource is more.", Present{Rules: rule("", "secrets", "list")}, true},
		"Wildcard":  {"A wildcard is more.", Present{Rules: rule("*", "pods", "list")}, true},
		"Other":     {"Another subject would get what is added.", Present{Subjects: []rbacv1.Subject{{Kind: "User", Name: "alice"}}}, true},
		"NoSubject": {"A binding for nobody is not.", Present{Rules: rule("example.com", "caches/status", "patch")}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := grants[0].ExceedsGrant(tc.present); got != tc.want {
				t.Errorf("%s got %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

// TestLacking: what is lacking is what was not answered with yes, no more and no
// less, whatever the answers are; and granting it leaves nothing.
func TestLacking(t *testing.T) {
	program := compile(t, "serviceAccountName: robot\nowner: {apiVersion: example.com/v1, kind: Cache}\n"+
		"children: [{id: web, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}]")
	rapid.Check(t, func(t *rapid.T) {
		grants, _ := NeededGrants(t.Context(), Request{
			Program: program, Kind: GuessKind, Own: Subject{Name: "ambit"}, Namespaces: []string{"a", "b"},
			OwnersEverywhere: rapid.Bool().Draw(t, "owners everywhere"), Finalizers: rapid.Bool().Draw(t, "finalizers"),
		})
		granted := map[Check]bool{}
		var want, got []Check
		for _, g := range grants {
			for _, c := range g.GrantChecks() {
				if granted[c] = rapid.Bool().Draw(t, "granted"); !granted[c] {
					want = append(want, c)
				}
			}
		}
		for _, g := range grants {
			lacking := g.LackingVerbs(func(c Check) bool { return granted[c] })
			got = append(got, lacking.GrantChecks()...)
			if left := lacking.LackingVerbs(func(Check) bool { return true }); len(left.Rules) > 0 {
				t.Errorf("with everything granted %v is left", left.Rules)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}

// everyCase are the policies of all golden tests, and their files.
func everyCase(t *testing.T) map[string]*policy.Program {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	programs := map[string]*policy.Program{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		programs[file] = compile(t, string(txtar.Parse(data).Files[0].Data))
	}
	return programs
}

// TestHarmless: no rule has a wildcard or lets anybody raise rights; who may
// impersonate, may only one account. Names are legal as labels.
func TestHarmless(t *testing.T) {
	for file, program := range everyCase(t) {
		for _, namespaces := range [][]string{{"a", "b"}, {Everywhere}, nil} {
			request := Request{Program: program, Kind: GuessKind, Own: Subject{"ambit-system", "ambit"},
				Namespaces: namespaces, Elsewhere: namespaces, Searched: namespaces, Finalizers: true}
			grants, _ := NeededGrants(t.Context(), request)
			for _, g := range grants {
				checkHarmless(t, file, g, program.ServiceAccount)
			}
		}
	}
}

func checkHarmless(t *testing.T, file string, g Grant, account string) {
	t.Helper()
	for _, rule := range g.Rules {
		texts := append([]string{rule.Group, rule.Resource, rule.Subresource, rule.Name}, rule.Verbs...)
		if slices.ContainsFunc(texts, func(s string) bool { return strings.Contains(s, "*") || s == "escalate" || s == "bind" }) {
			t.Errorf("%s: %s: rule %v", file, g.Name, rule)
		}
		if slices.Contains(rule.Verbs, "impersonate") && (account == "" || rule.Name != account) {
			t.Errorf("%s: %s: impersonates without a name: %v", file, g.Name, rule)
		}
	}
	if problems := validation.IsValidLabelValue(g.Policy); len(problems) > 0 {
		t.Errorf("%s: label %q: %v", file, g.Policy, problems)
	}
}

// right is a verb on a resource, wherever it is.
type right struct{ Group, Resource, Subresource, Verb string }

// TestNoMore: wherever a policy works, each verb on each resource is one that it
// needs by policy.Program.NeedsFor, and each of those is granted somewhere. What is
// handed out and the finalizers are apart from that.
func TestNoMore(t *testing.T) {
	for file, program := range everyCase(t) {
		program.ServiceAccount, program.NamespaceSelector = "", nil
		alsoHandsOut := slices.ContainsFunc(slices.Concat(program.Children, program.Ensured), func(c *policy.Child) bool {
			return c.GVK.Group == rbacv1.GroupName
		})
		if alsoHandsOut {
			continue
		}
		request := Request{Program: program, Kind: GuessKind, Namespaces: []string{"a"}, Elsewhere: []string{Everywhere}, Searched: []string{"a"}}
		grants, _ := NeededGrants(t.Context(), request)
		got, want := map[right]bool{}, map[right]bool{}
		for _, g := range grants {
			for _, check := range g.GrantChecks() {
				got[right{check.Group, check.Resource, check.Subresource, check.Verb}] = true
			}
		}
		for _, need := range program.NeedsFor(request.isNamespaced) {
			for _, verb := range need.Verbs {
				resource := GuessKind(need.GVK).Resource
				want[right{resource.Group, resource.Resource, need.Subresource, verb}] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: -needed +granted\n%s", file, diff)
		}
	}
}

// TestFixed: nothing that could depend on an owner, even if it has a
// default, is taken to be known.
func TestFixed(t *testing.T) {
	cases := map[string]struct {
		reason, name string
		want         string // "": not known
	}{
		"Literal":   {"A name without CEL is known.", "web", "web"},
		"Policy":    {"So is one that only the policy decides on.", "${policy.namespace}-${policy.name}", "team-x-cache"},
		"Constant":  {"So is a variable without owner.", "${fixed}-1", "plain-1"},
		"Owner":     {"An owner's is not.", "${owner.metadata.name}", ""},
		"Default":   {"A default is not what an owner says.", "${owner.?spec.?name.orValue('web')}", ""},
		"Has":       {"Whether a field is there is the owner's.", "${has(owner.spec.name) ? 'a' : 'b'}", ""},
		"Variable":  {"Nor is a variable that reads the owner.", "${loose}-1", ""},
		"ForEach":   {"Nor is an element of a list.", "${shard}", ""},
		"Optional":  {"Nor is an element's field.", "${shard.?name.orValue('x')}", ""},
		"Condition": {"What decides anyway does so.", "${true || owner.spec.on ? 'a' : 'b'}", "a"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			program := compile(t, "owner: {apiVersion: example.com/v1, kind: Cache}\n"+
				"variables:\n- {name: fixed, expression: '\"plain\"'}\n- {name: loose, expression: 'owner.metadata.name'}\n"+
				"children:\n- id: web\n  forEach: {as: shard, in: owner.spec.shards}\n"+
				"  template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: \""+tc.name+"\"}}\n")
			f := evaluateConstant(t.Context(), program.Children[0].Template, constantVariables(t.Context(), program))
			got, known := f.textAt("metadata", "name")
			if got != tc.want || known != (tc.want != "") {
				t.Errorf("%s got %q, known %t", tc.reason, got, known)
			}
		})
	}
}
