package permissions_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const (
	appOwner   = "owner: {apiVersion: example.com/v1, kind: App}\n"
	deployment = "children: [{id: web, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}}]\n"
	appsPath   = "/apis/example.com/v1/apps"
	robotUser  = "system:serviceaccount:team-x:robot"
)

// own is who Ambit runs as.
func own() rbac.Subject { return rbac.Subject{Namespace: "ambit-system", Name: "ambit"} }

func compile(t *testing.T, spec string) *policy.Program {
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

// options are those for one policy. Owners named idle are not served.
func options(t *testing.T, reporter permissions.Reporter, spec string) permissions.Options {
	t.Helper()
	return permissions.Options{
		Programs: []*policy.Program{compile(t, spec)}, Kinds: &permissions.Kinds{Reporter: reporter}, Own: own(), OwnNamespace: "team-x", Reporter: reporter,
		Serves: func(_ context.Context, _ *policy.Program, owner *unstructured.Unstructured) bool {
			return owner.GetName() != "idle"
		},
	}
}

// apps is a list of owners, each as namespace/name.
func apps(names ...string) string {
	var items []string
	for _, name := range names {
		namespace, name, _ := strings.Cut(name, "/")
		items = append(items, fmt.Sprintf(`{"apiVersion":"example.com/v1","kind":"App","metadata":{"namespace":%q,"name":%q}}`, namespace, name))
	}
	return `{"apiVersion":"example.com/v1","kind":"AppList","items":[` + strings.Join(items, ",") + "]}"
}

// shown is an object in one line, a Role with its verbs.
func shown(t *testing.T, objects []runtime.Object) []string {
	t.Helper()
	var lines []string
	for _, object := range objects {
		named, err := meta.Accessor(object)
		if err != nil {
			t.Fatal(err)
		}
		line := object.GetObjectKind().GroupVersionKind().Kind + " " + strings.TrimPrefix(named.GetNamespace()+"/"+named.GetName(), "/")
		var rules []rbacv1.PolicyRule
		switch role := object.(type) {
		case *rbacv1.Role:
			rules = role.Rules
		case *rbacv1.ClusterRole:
			rules = role.Rules
		}
		for _, rule := range rules {
			line += "; " + strings.Join(rule.Verbs, ",") + " " + strings.Join(rule.Resources, ",")
		}
		lines = append(lines, line)
	}
	return lines
}

func TestNeeded(t *testing.T) {
	cases := map[string]struct {
		reason   string
		spec     string
		change   func(*permissions.Options)
		want     []string
		warnings []string
	}{
		"Unlimited": {
			reason: "a policy that nothing limits works everywhere",
			spec:   appOwner,
			want:   []string{"ServiceAccount ambit-system/ambit", "ClusterRole ambit-cache; list,watch apps; patch apps/status", "ClusterRoleBinding ambit-cache"},
		},
		"Namespaces": {
			reason: "namespaces that are given limit it, and finalizers count where it is said",
			spec:   appOwner,
			change: func(o *permissions.Options) { o.Namespaces, o.Finalizers = []string{"a"}, true },
			want: []string{
				"ServiceAccount ambit-system/ambit",
				"Role a/ambit-cache; list,watch apps; patch apps/status; update apps/finalizers", "RoleBinding a/ambit-cache",
			},
		},
		"OwnersEverywhere": {
			reason: "owners may be everywhere, and the rest in one namespace",
			spec:   appOwner + deployment,
			change: func(o *permissions.Options) { o.Namespaces, o.OwnersEverywhere = []string{"a"}, true },
			want: []string{
				"ServiceAccount ambit-system/ambit",
				"ClusterRole ambit-cache; list,watch apps; patch apps/status", "ClusterRoleBinding ambit-cache",
				"Role a/ambit-cache; get,list,watch,create,patch,delete deployments", "RoleBinding a/ambit-cache",
			},
		},
		"Idle": {
			reason:   "a policy whose scope is elsewhere has nothing to do",
			spec:     appOwner + "scope: {namespaces: [b]}\n",
			change:   func(o *permissions.Options) { o.Namespaces = []string{"a"} },
			warnings: []string{`policy "cache" has nothing to do: its scope and --namespaces have no namespace in common`},
		},
		"Default": {
			reason: "a ServiceAccount that comes with its namespace is not printed",
			spec:   appOwner + "serviceAccountName: default\nscope: {namespaces: [a]}\n",
			want: []string{
				"ServiceAccount ambit-system/ambit",
				"Role a/ambit-cache; list,watch apps; patch apps/status", "RoleBinding a/ambit-cache",
				"Role team-x/ambit-cache:impersonate; list,watch,impersonate serviceaccounts", "RoleBinding team-x/ambit-cache:impersonate",
			},
		},
		"WatchRBAC": {
			reason: "the right to watch RBAC is Ambit's, and comes last",
			spec:   appOwner + "scope: {namespaces: [a]}\n",
			change: func(o *permissions.Options) { o.WatchRBAC = true },
			want: []string{
				"ServiceAccount ambit-system/ambit",
				"Role a/ambit-cache; list,watch apps; patch apps/status", "RoleBinding a/ambit-cache",
				"ClusterRole ambit:watch-rbac; list,watch roles; list,watch rolebindings; list,watch clusterroles; list,watch clusterrolebindings",
				"ClusterRoleBinding ambit:watch-rbac",
			},
		},
		"Remark": {
			reason:   "what only owners say is told",
			spec:     appOwner + "scope: {namespaces: [a]}\nwatches: [{id: pods, apiVersion: v1, kind: Pod, namespace: \"${owner.spec.there}\"}]\n",
			warnings: []string{`policy "cache": only owners say in which namespaces "pods" may be: rights for that are in all, unless --namespaces names some`},
			want: []string{
				"ServiceAccount ambit-system/ambit",
				"ClusterRole ambit-cache; list,watch pods", "ClusterRoleBinding ambit-cache",
				"Role a/ambit-cache; list,watch apps; patch apps/status", "RoleBinding a/ambit-cache",
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reporter := &told{}
			o := options(t, reporter, c.spec)
			o.Kinds.Defined = map[schema.GroupKind]rbac.Kind{{Group: "example.com", Kind: "App"}: {
				Resource: schema.GroupResource{Group: "example.com", Resource: "apps"}, Namespaced: true,
			}}
			if c.change != nil {
				c.change(&o)
			}
			needs, err := permissions.FindNeeds(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, shown(t, needs.GrantingObjects())); diff != "" {
				t.Errorf("%s; -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, reporter.warnings); diff != "" {
				t.Errorf("%s; warnings: -want +got:\n%s", c.reason, diff)
			}
			if name == "Remark" != (len(needs.Remarks) == 1) {
				t.Errorf("%s; remarks %q", c.reason, needs.Remarks)
			}
		})
	}
}

func TestKinds(t *testing.T) {
	moon := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Moon"}
	spec := "owner: {apiVersion: example.com/v1, kind: Moon}\n"
	defined := rbac.Kind{Resource: schema.GroupResource{Group: "example.com", Resource: "moonz"}}
	guessed := rbac.Kind{Resource: schema.GroupResource{Group: "example.com", Resource: "moons"}, Namespaced: true}
	served := meta.NewDefaultRESTMapper(nil)
	served.AddSpecific(moon, moon.GroupVersion().WithResource("lunae"), moon.GroupVersion().WithResource("luna"), meta.RESTScopeRoot)
	cases := map[string]struct {
		reason   string
		mapper   meta.RESTMapper
		defined  bool
		want     rbac.Kind
		warnings []string
	}{
		"Guessed": {
			reason: "what nobody says is guessed, and told", want: guessed,
			warnings: []string{"taking the resource of kind Moon in example.com/v1 to be moons.example.com, in namespaces: its CustomResourceDefinition, given by --crds, would say"},
		},
		"Defined": {reason: "a definition says", defined: true, want: defined},
		"Served": {
			reason: "what the cluster serves counts most", mapper: served, defined: true,
			want: rbac.Kind{Resource: schema.GroupResource{Group: "example.com", Resource: "lunae"}},
		},
		"NotServed": {
			reason: "that the cluster does not serve a kind is told", mapper: meta.NewDefaultRESTMapper(nil), want: guessed,
			warnings: []string{"the cluster does not serve kind Moon in example.com/v1: taking its resource to be moons.example.com, in namespaces"},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			reporter := &told{}
			kinds := &permissions.Kinds{Mapper: c.mapper, Reporter: reporter}
			if c.defined {
				kinds.Defined = map[schema.GroupKind]rbac.Kind{moon.GroupKind(): defined}
			}
			program := compile(t, spec)
			for range 2 { // a kind is looked up once
				if err := kinds.FindAll([]*policy.Program{program}); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(c.want, kinds.FoundKind(moon)); diff != "" {
				t.Errorf("%s; -want +got:\n%s", c.reason, diff)
			}
			if diff := cmp.Diff(c.warnings, reporter.warnings); diff != "" {
				t.Errorf("%s; warnings: -want +got:\n%s", c.reason, diff)
			}
		})
	}
}
