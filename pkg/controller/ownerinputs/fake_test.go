package ownerinputs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/policytext"
)

// fakeReviewer permits all but what a test denies: "verb resource namespace", where no namespace is all.
type fakeReviewer struct {
	denied []string
	// unreviewed are places without an answer.
	unreviewed []string
	generation uint64
}

func (f *fakeReviewer) Require(access.ChangeHandler, access.Key, []access.Access, access.Payer) {}
func (f *fakeReviewer) ReportDenied(access.Key, access.Access)                                  {}

func (f *fakeReviewer) State(at access.Key) access.State {
	return access.State{Reviewed: !slices.Contains(f.unreviewed, at.Namespace), Generation: f.generation}
}

func (f *fakeReviewer) DecideAll(at access.Key, accesses []access.Access) (access.Decision, []access.Access, access.State) {
	denied := slices.DeleteFunc(slices.Clone(accesses), func(a access.Access) bool {
		return !slices.Contains(f.denied, strings.TrimSpace(a.Verb+" "+a.Resource+" "+at.Namespace))
	})
	if len(denied) > 0 {
		return access.Denied, denied, f.State(at)
	}
	return access.Allowed, nil, f.State(at)
}

// fakeNamespaces is a list of namespaces. It is nil while it is not known.
type fakeNamespaces struct {
	list     *ownerscope.Namespaces
	isDenied bool
}

func (f *fakeNamespaces) FollowedList() *ownerscope.Namespaces { return f.list }
func (f *fakeNamespaces) IsDenied() bool                       { return f.isDenied }

// bench is a Planner of a policy whose owners are in the namespace home.
type bench struct {
	*Planner
	reviewer   *fakeReviewer
	namespaces *fakeNamespaces
	enqueued   []types.NamespacedName
	resources  map[schema.GroupVersionKind]string // how kinds are served, where not by their usual name
	scopes     map[schema.GroupVersionKind]meta.RESTScope
}

// newBench compiles a policy whose spec is given. All kinds of the policy are served, in namespaces.
func newBench(t testing.TB, spec string) *bench {
	t.Helper()
	text := "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: web, namespace: ambit-system}\nspec:\n" + spec
	program := policytext.Compile(t, "policy.yaml", text)
	b := &bench{
		reviewer: &fakeReviewer{}, namespaces: &fakeNamespaces{},
		resources: map[schema.GroupVersionKind]string{}, scopes: map[schema.GroupVersionKind]meta.RESTScope{},
	}
	kinds := policykinds.New(program, b.serve(t, program), func([]schema.GroupVersionKind) {})
	permissions := placepermissions.New(placepermissions.Options{
		Policy: "web", User: "bot", Reviewer: b.reviewer,
		Needs: func() ([]placepermissions.Need, bool) { return kinds.ResourceNeeds(false) }, ResourceOf: kinds.ResourceOf,
		IsClusterScoped: func() bool { return false }, IsServed: func(string) bool { return false }, IsReplaced: func() bool { return false },
		ScopeOf: func(namespace string) placepermissions.Scope {
			if namespace == "home" {
				return placepermissions.AtHome
			}
			return placepermissions.AsUsed
		},
		Refused: func(error) *plan.Problem { return nil }, Changed: func(placepermissions.Change) {}, Now: time.Now,
	})
	b.Planner = New(Options{
		Program: program, Manager: "ambit/ambit-system.web", User: "bot", Kinds: kinds, Permissions: permissions,
		Scope: ownerscope.New(program, nil), Namespaces: b.namespaces,
		NowhereProblem:  func(denied *plan.Problem) *plan.Problem { return &plan.Problem{Message: "nowhere: " + denied.Message} },
		IsClusterScoped: func() bool { return false },
		IsGone:          func(schema.GroupVersionResource, time.Time) bool { return true },
		Enqueue:         func(owner types.NamespacedName) { b.enqueued = append(b.enqueued, owner) },
	})
	return b
}

// serve makes a cache that knows how the kinds of a policy are served, and those that a test has put into
// resources or scopes.
func (b *bench) serve(t testing.TB, program *policy.Program) *discovery.Cache {
	t.Helper()
	kinds := []schema.GroupVersionKind{thing, role}
	for _, n := range program.Needs() {
		kinds = append(kinds, n.GVK)
	}
	cache := discovery.New(discovery.Options{Served: func(context.Context, []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
		served := map[schema.GroupKind]discovery.ServedKind{}
		for _, gvk := range kinds {
			usual, _ := meta.UnsafeGuessKindToResource(gvk)
			usual.Resource = cmp.Or(b.resources[gvk], usual.Resource)
			scope := b.scopes[gvk]
			if scope == nil {
				scope = meta.RESTScopeNamespace
			}
			served[gvk.GroupKind()] = discovery.ServedKind{Mappings: []*meta.RESTMapping{{Resource: usual, GroupVersionKind: gvk, Scope: scope}}}
		}
		return served, nil
	}})
	for _, gvk := range kinds {
		cache.LookupKind(gvk)
	}
	cache.PollRound(t.Context())
	return cache
}

var (
	thing = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	role  = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
)

// subject is an owner home/x, for which the last plan wanted these places.
func (b *bench) subject(queries ...plan.Query) Subject {
	owner := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"at": "there", "app": "shop"}}}
	owner.SetNamespace("home")
	owner.SetName("x")
	owner.SetUID("u")
	owner.SetResourceVersion("1")
	home, _ := b.Permissions.ForOwners("home")
	return Subject{Name: types.NamespacedName{Namespace: "home", Name: "x"}, Owner: owner, Home: home, Queries: queries}
}

// layoutOf returns the streams that a subject needs, and what is blocked, a line each.
func (b *bench) layoutOf(t *testing.T, subject Subject) []string {
	t.Helper()
	s, wait := b.PlanInputs(t.Context(), subject)
	if wait > 0 {
		return []string{"wait"}
	}
	var lines []string
	for _, interest := range s.interests {
		lines = append(lines, interestText(interest))
	}
	var blocked []string
	for _, from := range s.children {
		if from.problem != nil {
			blocked = append(blocked, fmt.Sprintf("%s at %q: %s", from.at.Child, from.at.Namespace, from.problem.Message))
		}
	}
	for i, from := range s.watches {
		if from.problem != nil {
			blocked = append(blocked, fmt.Sprintf("%s: %s", b.Program.Watches[i].ID, from.problem.Message))
		}
	}
	slices.Sort(blocked)
	return append(lines, blocked...)
}

// interestText is as in: deployments in home with ambit.dev/policy=web by ambit.dev/owner-uid=u.
func interestText(i informer.Interest) string {
	text := i.Key.GVR.Resource + " in " + cmp.Or(i.Key.Namespace, "all")
	if i.Key.LabelSelector != "" {
		text += " with " + i.Key.LabelSelector
	}
	if i.Key.FieldSelector != "" {
		text += " where " + i.Key.FieldSelector
	}
	if i.IndexLabel != "" {
		text += " by " + i.IndexLabel + "=" + i.IndexValue
	}
	if len(i.Names) > 0 {
		text += fmt.Sprint(" named ", i.Names)
	}
	return text
}

var ourLabels = v1alpha1.LabelPolicy + "=ambit-system.web by " + v1alpha1.LabelOwnerUID + "=u"
