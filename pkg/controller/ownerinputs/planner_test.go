package ownerinputs

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/plan"
)

const (
	ownerSpec = "  owner: {apiVersion: example.com/v1, kind: Shop}\n"
	childSpec = ownerSpec + `  children:
    - id: server
      template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}
    - id: config
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: x}}
    - id: more
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: y}}
`
	watchSpec = ownerSpec + `  children: [{id: server, template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}}]
  watches:
    - {id: pods, apiVersion: v1, kind: Pod, `
	farSpec = ownerSpec + `  children:
    - {id: copy, template: {apiVersion: v1, kind: Secret, metadata: {name: x, namespace: "${owner.spec.at}"}}}
`
)

// far is a place of the child copy.
func far(namespace string, names ...string) plan.Query {
	return plan.Query{Location: plan.Location{Child: "copy", Namespace: namespace}, GVK: schema.GroupVersionKind{Version: "v1", Kind: "Secret"}, Names: names}
}

func TestPlan(t *testing.T) {
	const here = " in home with " // our own place
	cases := map[string]struct {
		reason     string
		spec       string
		queries    []plan.Query
		denied     []string
		unreviewed []string
		namespaces []string // that are known
		shares     bool
		spread     bool // owners are in many namespaces, and it is asked what is permitted in all
		want       []string
	}{
		"Children": {
			reason: "children of a kind share a stream, of which each owner reads its own", spec: childSpec,
			want: []string{"deployments" + here + ourLabels, "configmaps" + here + ourLabels},
		},
		"ChildDenied": {
			reason: "what may not be watched is blocked by the verb that is missing, and nothing else is", spec: childSpec, denied: []string{"watch configmaps home"},
			want: []string{
				"deployments" + here + ourLabels,
				`config at "home": cannot watch configmaps in namespace "home" as bot`, `more at "home": cannot watch configmaps in namespace "home" as bot`,
			},
		},
		"OwnersStreams": {
			reason: "the policy says so", spec: childSpec + "  informers: Owner\n",
			want: []string{
				"deployments in home with ambit.dev/owner-uid=u,ambit.dev/policy=ambit-system.web",
				"configmaps in home with ambit.dev/owner-uid=u,ambit.dev/policy=ambit-system.web",
			},
		},
		"ClusterStreams": {
			reason: "the policy says so, and it is permitted for one of the kinds", spec: childSpec + "  informers: Cluster\n", denied: []string{"list configmaps"},
			want: []string{"deployments in all with " + ourLabels, "configmaps" + here + ourLabels},
		},
		"Spread": {
			reason: "owners are in many namespaces, and everything is permitted in all; what is not ours stays apart",
			spec:   watchSpec + "selector: {matchLabels: {app: \"${owner.spec.app}\"}}}\n", spread: true,
			want: []string{"deployments in all with " + ourLabels, "pods in home with app=shop"},
		},
		"SpreadDenied": {
			reason: "not everything is permitted in all namespaces", spec: childSpec, spread: true, denied: []string{"patch configmaps"},
			want: []string{"deployments" + here + ourLabels, "configmaps" + here + ourLabels},
		},
		"SpreadByNamespace": {
			reason: "the policy says so", spec: childSpec + "  informers: Namespace\n", spread: true,
			want: []string{"deployments" + here + ourLabels, "configmaps" + here + ourLabels},
		},
		"SpreadElsewhere": {
			reason: "a child in another namespace is counted for itself", spec: farSpec, queries: []plan.Query{far("there")}, spread: true,
			want: []string{"secrets in there with " + ourLabels},
		},
		"OtherNamespace": {
			reason: "a plan wants an object there", spec: farSpec, queries: []plan.Query{far("there")},
			want: []string{"secrets in there with " + ourLabels},
		},
		"OtherNamespaceDenied": {
			reason: "one place does not block another", spec: farSpec, queries: []plan.Query{far("there"), far("where")}, denied: []string{"list secrets where"},
			want: []string{"secrets in there with " + ourLabels, `copy at "where": cannot list secrets in namespace "where" as bot`},
		},
		"OtherNamespaceUnknown": {
			reason: "nobody has said yet what is permitted there", spec: farSpec, queries: []plan.Query{far("there")}, unreviewed: []string{"there"},
			want: []string{"wait"},
		},
		"FewNamespaces": {
			reason: "so many are watched one by one", spec: farSpec, queries: []plan.Query{far("a"), far("b"), far("c"), far("d")},
			want: []string{"secrets in a with " + ourLabels, "secrets in b with " + ourLabels, "secrets in c with " + ourLabels, "secrets in d with " + ourLabels},
		},
		"ManyNamespaces": {
			reason: "so many are watched together", spec: farSpec, queries: []plan.Query{far("a"), far("b"), far("c"), far("d"), far("e")},
			want: []string{"secrets in all with " + ourLabels},
		},
		"ManyNamespacesDenied": {
			reason: "all together may not be watched", spec: farSpec, queries: []plan.Query{far("a"), far("b"), far("c"), far("d"), far("e")}, denied: []string{"watch secrets"},
			want: []string{"secrets in a with " + ourLabels, "secrets in b with " + ourLabels, "secrets in c with " + ourLabels, "secrets in d with " + ourLabels, "secrets in e with " + ourLabels},
		},
		"FewNames": {
			reason: "what has no label of ours is watched by name", spec: farSpec, queries: []plan.Query{far("there", "one", "two")},
			want: []string{"secrets in there where metadata.name=one", "secrets in there where metadata.name=two"},
		},
		"SharedNames": {
			reason: "owners share one stream", spec: farSpec, queries: []plan.Query{far("there", "one")}, shares: true,
			want: []string{"secrets in there named [one]"},
		},
		"WatchByLabels": {
			reason: "the API server selects what one owner watches", spec: watchSpec + "selector: {matchLabels: {app: \"${owner.spec.app}\"}}}\n",
			want: []string{"deployments" + here + ourLabels, "pods in home with app=shop"},
		},
		"WatchShared": {
			reason: "owners share one stream, of which each reads its own", spec: watchSpec + "selector: {matchLabels: {app: \"${owner.spec.app}\"}}}\n", shares: true,
			want: []string{"deployments" + here + ourLabels, "pods in home with app by app=shop"},
		},
		"WatchElsewhere": {
			reason: "the watch names a namespace", spec: watchSpec + "namespace: there, selector: {matchLabels: {app: a}}}\n",
			want: []string{"deployments" + here + ourLabels, "pods in there with app=a"},
		},
		"WatchElsewhereDenied": {
			reason: "the watch is blocked, and no child", spec: watchSpec + "namespace: there, selector: {matchLabels: {app: a}}}\n", denied: []string{"list pods there"},
			want: []string{"deployments" + here + ourLabels, `pods: cannot list pods in namespace "there" as bot`},
		},
		"WatchEverywhere": {
			reason: "all namespaces may be watched together", spec: watchSpec + "namespace: \"*\", selector: {matchLabels: {app: a}}}\n",
			want: []string{"deployments" + here + ourLabels, "pods in all with app=a"},
		},
		"WatchEverywhereUnlisted": {
			reason: "they may not, and which there are is not known", spec: watchSpec + "namespace: \"*\", selector: {matchLabels: {app: a}}}\n", denied: []string{"list pods"},
			want: []string{"deployments" + here + ourLabels, "pods: waiting for the list of namespaces to look for pods in"},
		},
		"WatchWhereAllowed": {
			reason: "what may not be watched is left out", spec: watchSpec + "namespace: \"*\", selector: {matchLabels: {app: a}}}\n",
			denied: []string{"list pods", "watch pods b"}, namespaces: []string{"a", "b", "c"},
			want: []string{"deployments" + here + ourLabels, "pods in a with app=a", "pods in c with app=a"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.spec)
			b.reviewer.denied, b.reviewer.unreviewed = tc.denied, tc.unreviewed
			if tc.namespaces != nil {
				listed := ownerscope.Namespaces{}
				for _, namespace := range tc.namespaces {
					listed[namespace] = labels.Set{}
				}
				b.namespaces.list = &listed
			}
			if tc.spread {
				b.Permissions.RequireScope("", placepermissions.Everything)
			}
			subject := b.subject(tc.queries...)
			subject.SharesStreams, subject.IsSpread = tc.shares, tc.spread
			b.layoutOf(t, subject) // of what is denied everywhere it is known only after this
			got := b.layoutOf(t, subject)
			if !slices.Equal(got, tc.want) {
				t.Errorf("%s:\ngot\n%q\nwant\n%q", tc.reason, got, tc.want)
			}
		})
	}
}

// TestScopeOfKinds: a record may say of a kind without namespaces that there is an object in one, or of
// a kind with namespaces that it is in none. Nothing can be there: such a place opens no stream and asks
// for no right, and nothing blocks it, so that its entry goes.
func TestScopeOfKinds(t *testing.T) {
	secret := schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	cases := map[string]struct {
		reason    string
		kind      schema.GroupVersionKind
		child     string // empty: the policy has none any more
		namespace string
		opens     bool
	}{
		"ClusterScoped":            {"it is where such objects are", role, "", "", true},
		"ClusterScopedInNamespace": {"it has no namespace", role, "", "victim", false},
		"Namespaced":               {"it is where such objects are", secret, "", "other", true},
		"NamespacedInNone":         {"all namespaces together are no place of an object", secret, "", "", false},
		"ChildInNone":              {"nor are they for a child that there is", secret, "copy", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, farSpec)
			b.scopes[role] = meta.RESTScopeRoot
			b.Kinds = policykinds.New(b.Program, b.serve(t, b.Program), func([]schema.GroupVersionKind) {})
			query := plan.Query{Location: plan.Location{Child: tc.child, Namespace: tc.namespace}, GVK: tc.kind}
			s, wait := b.PlanInputs(t.Context(), b.subject(query))
			if wait > 0 {
				t.Fatalf("%s: it waits for %s", tc.reason, wait)
			}
			if from, isObserved := s.childAt(query.Location); !isObserved || from.problem != nil {
				t.Errorf("%s: the place is observed: %t, and blocked by %v", tc.reason, isObserved, from.problem)
			}
			uses := b.Permissions.UsesIndex().HasPlace(types.NamespacedName{Namespace: "home", Name: "x"}, tc.namespace)
			if opens := len(s.interests) > 0; opens != tc.opens || uses != tc.opens {
				t.Errorf("%s: streams %v, and the place is used: %t", tc.reason, s.interests, uses)
			}
		})
	}
}

// TestIsCurrent: inputs hold until something changes that they depend on.
func TestIsCurrent(t *testing.T) {
	var b *bench
	var subject Subject
	var s *Inputs
	cases := map[string]func() Subject{
		"NoInputs": func() Subject { s = nil; return subject },
		"OtherOwner": func() Subject {
			next := subject
			next.Owner = subject.Owner.DeepCopy()
			next.Owner.SetUID("v")
			return next
		},
		"Deleted": func() Subject {
			next := subject
			next.Owner = subject.Owner.DeepCopy()
			next.Owner.SetDeletionTimestamp(new(metav1.Now()))
			return next
		},
		"Retired": func() Subject { next := subject; next.Retire = true; return next },
		"Queries": func() Subject { return b.subject(far("where")) },
		"Names":   func() Subject { return b.subject(far("there", "x")) },
		"Shares":  func() Subject { next := subject; next.SharesStreams = true; return next },
		"Spread":  func() Subject { next := subject; next.IsSpread = true; return next },
		"Kind": func() Subject {
			b.resources[schema.GroupVersionKind{Version: "v1", Kind: "Secret"}] = "others"
			b.Kinds = policykinds.New(b.Program, b.serve(t, b.Program), func([]schema.GroupVersionKind) {})
			return subject
		},
		"KindIsUnknown": func() Subject {
			b.Kinds = policykinds.New(b.Program, discovery.New(discovery.Options{}), func([]schema.GroupVersionKind) {})
			return subject
		},
		"Rights": func() Subject {
			b.reviewer.denied, b.reviewer.generation = []string{"create secrets there"}, 1
			return subject
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			b = newBench(t, farSpec)
			subject = b.subject(far("there"))
			s, _ = b.PlanInputs(t.Context(), subject)
			if !b.IsCurrent(s, subject) {
				t.Fatal("nothing has changed, and they do not hold")
			}
			if b.IsCurrent(s, change()) {
				t.Error("they still hold")
			}
		})
	}
}

// TestIsCurrentForOwner: of an owner that has changed counts what its watches are selected by.
func TestIsCurrentForOwner(t *testing.T) {
	const byVariable = `selector: {matchLabels: {app: "${app}"}}}
`
	const variables = `  variables: [{name: unread, expression: owner.spec.at}, {name: shop, expression: owner.spec.app}, {name: app, expression: shop}]
`
	cases := map[string]struct {
		reason, spec string
		change       func(owner *unstructured.Unstructured)
		want         bool
	}{
		"Identity": {
			reason: "the name says all, and stays", spec: watchSpec + `selector: {matchLabels: {name: "${owner.metadata.name}"}}}
`, change: func(owner *unstructured.Unstructured) { setSpec(owner, "app", "other") }, want: true,
		},
		"Variable": {
			reason: "the selector reads it by two variables", spec: watchSpec + byVariable + variables,
			change: func(owner *unstructured.Unstructured) { setSpec(owner, "app", "other") },
		},
		"UnreadVariable": {
			reason: "no watch reads it", spec: watchSpec + byVariable + variables,
			change: func(owner *unstructured.Unstructured) { setSpec(owner, "at", "other") }, want: true,
		},
		"Namespace": {
			reason: "it says where to look", spec: watchSpec + `namespace: "${owner.spec.at}"}
`, change: func(owner *unstructured.Unstructured) { setSpec(owner, "at", "elsewhere") },
		},
		"Failed": {
			reason: "what failed is tried again with every version of the owner", spec: watchSpec + `selector: {matchLabels: {name: "${string(1 / int(owner.metadata.name))}"}}}
`, change: func(owner *unstructured.Unstructured) { setSpec(owner, "app", "other") },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, tc.spec)
			subject := b.subject()
			s, _ := b.PlanInputs(t.Context(), subject)
			if !b.IsCurrent(s, subject) {
				t.Fatal("nothing has changed, and they do not hold")
			}
			subject.Owner = subject.Owner.DeepCopy()
			subject.Owner.SetResourceVersion("2")
			tc.change(subject.Owner)
			if got := b.IsCurrent(s, subject); got != tc.want {
				t.Errorf("%s: they hold: %t", tc.reason, got)
			}
		})
	}
}

// setSpec sets a field of an owner's spec.
func setSpec(owner *unstructured.Unstructured, name, value string) {
	owner.Object["spec"].(map[string]any)[name] = value
}

// TestHasLookedUp: the kinds of children and of what the last plan wanted were looked up, and no others.
func TestHasLookedUp(t *testing.T) {
	b := newBench(t, farSpec)
	s, _ := b.PlanInputs(t.Context(), b.subject(plan.Query{Location: plan.Location{Namespace: "there"}, GVK: thing}))
	for gvk, want := range map[schema.GroupVersionKind]bool{{Version: "v1", Kind: "Secret"}: true, thing: true, role: false} {
		if got := s.HasLookedUp(gvk); got != want {
			t.Errorf("%v: %t", gvk, got)
		}
	}
}

// TestUnsearched: a watch in all namespaces that is denied has the list of namespaces asked for, on the
// turn of the policy; and of somebody who may not list them either, both are said.
func TestUnsearched(t *testing.T) {
	b := newBench(t, watchSpec+"namespace: \"*\", selector: {matchLabels: {app: a}}}\n")
	b.reviewer.denied = []string{"list pods"}
	b.layoutOf(t, b.subject())
	if !b.SearchesNamespaces() {
		t.Error("nobody searches namespaces")
	}
	b.enqueued = nil
	b.layoutOf(t, b.subject())
	if want := []types.NamespacedName{{}}; !slices.Equal(b.enqueued, want) {
		t.Errorf("%v are looked at again, want the policy", b.enqueued)
	}
	b.namespaces.isDenied = true
	want := "pods: nowhere: cannot list pods in all namespaces as bot"
	if got := b.layoutOf(t, b.subject()); !slices.Contains(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestProbe: the children of an owner that is not wanted are looked for in its own place, or in all
// namespaces where everything is permitted; and it is said under which rights not all could be seen.
func TestProbe(t *testing.T) {
	b := newBench(t, childSpec)
	b.reviewer.denied = []string{"list secrets"}
	probe := b.PlanProbe(t.Context(), b.subject())
	if len(probe.Interests) != 3 || probe.Blind != nil || probe.Interests[0].Key.Namespace != "home" {
		t.Errorf("where all is permitted: %+v", probe)
	}
	b = newBench(t, childSpec)
	b.reviewer.denied = []string{"watch configmaps home", "watch configmaps"}
	if probe := b.PlanProbe(t.Context(), b.subject()); len(probe.Interests) != 1 || probe.Blind == nil {
		t.Errorf("where something is denied: %+v", probe)
	}
	b = newBench(t, childSpec)
	b.reviewer.unreviewed = []string{"home"}
	if probe := b.PlanProbe(t.Context(), b.subject()); probe.Wait == 0 {
		t.Errorf("where nothing is known: %+v", probe)
	}
}
