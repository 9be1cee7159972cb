package ownerviews

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/ownerscope"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// What is tested with fakes is what there is.
var (
	_ Requests       = (*placepermissions.Tracker)(nil)
	_ Answers        = (*placepermissions.Tracker)(nil)
	_ Namespaces     = (*NamespaceList)(nil)
	_ NamespaceWatch = (*permitted.Watch)(nil)
	_ View           = informer.Lister{}
)

// answers is what may be done in places.
type answers = map[string]*permissionset.Set

func TestResolveScope(t *testing.T) {
	teamA := labels.SelectorFromSet(labels.Set{"team": "a"})
	namespaceKind := schema.GroupVersionKind{Version: "v1", Kind: "Namespace"}
	cases := map[string]struct {
		reason        string
		program       policy.Program
		limit         []string
		clusterScoped bool
		retiring      bool
		answers       answers
		pending       []string
		watch         *fakeNamespaceWatch // nil: nobody may ask for it
		known         []string            // namespaces that were looked at before
		busy          []string
		want          WatchScope // but for the problem
		problem       string     // its reason and message
		candidates    []string
		changed       bool
	}{
		"Everywhere": {reason: "one stream shows all", answers: answers{"": allowed()}, want: WatchScope{Watchable: []string{""}}},
		"EverywherePending": {reason: "an answer is to come", answers: answers{"": {}}, pending: []string{""},
			want: WatchScope{Undecided: []string{""}}},
		"EverywhereRefused": {reason: "it would be the same in each namespace", answers: answers{"": refused()},
			problem: "Unauthenticated: who are you?"},
		"EachListed": {reason: "where all is denied, each namespace is looked at", answers: answers{"": denied(""), "a": allowed(), "b": denied("b")},
			watch: mayList("a", "b"), want: WatchScope{Watchable: []string{"a"}}, candidates: []string{"a", "b"}},
		"EachExcluded": {reason: "what is excluded is not looked at", program: policy.Program{Exclude: []string{"b"}}, answers: answers{"": denied(""), "a": allowed()},
			watch: mayList("a", "b"), want: WatchScope{Watchable: []string{"a"}}, candidates: []string{"a"}},
		"EachUnlisted": {reason: "the list is to come, and what was looked at before stays a candidate", answers: answers{"": denied("")},
			watch: &fakeNamespaceWatch{}, known: []string{"a"}, want: WatchScope{Undecided: []string{""}}, candidates: []string{"a"}},
		"EachDenied": {reason: "nobody may know which there are; those that are known go on", answers: answers{"": denied(""), "a": allowed()},
			watch: mayNotList(), known: []string{"a"}, want: WatchScope{Watchable: []string{"a"}}, candidates: []string{"a"},
			problem: "Forbidden: cannot list, watch things.example.com in all namespaces as ambit, and cannot list, watch namespaces to look in each: " +
				"grant one of them, or name the namespaces by --namespaces or spec.scope.namespaces"},
		"Named": {reason: "what is denied in one holds up no other", program: policy.Program{Namespaces: []string{"c", "b", "a"}}, answers: answers{"a": allowed(), "b": denied("b"), "c": {}},
			pending: []string{"c"}, want: WatchScope{Watchable: []string{"a"}, Undecided: []string{"c"}}, candidates: []string{"a", "b", "c"}},
		"NamedRefused": {reason: "nothing can be done as the identity, wherever", program: policy.Program{Namespaces: []string{"a"}}, answers: answers{"a": refused()},
			problem: "Unauthenticated: who are you?", candidates: []string{"a"}},
		"NamedBusy": {reason: "there are owners outside of the scope to clean up after", program: policy.Program{Namespaces: []string{"b"}}, answers: answers{"a": allowed(), "b": allowed()},
			busy: []string{"a", "b", "a", ""}, want: WatchScope{Watchable: []string{"a", "b"}}, candidates: []string{"a", "b"}},
		"OutOfScope": {reason: "there can be no owners", program: policy.Program{Namespaces: []string{"a"}}, limit: []string{"b"}, candidates: []string{},
			problem: `OutOfScope: nothing is served: the policy looks for owners in "a", and Ambit is limited to "b" by --namespaces`},
		"OutOfScopeRetiring": {reason: "then there is nothing to clean up", program: policy.Program{Namespaces: []string{"a"}}, limit: []string{"b"}, candidates: []string{}, retiring: true},
		"Selected": {reason: "labels decide", program: policy.Program{NamespaceSelector: teamA}, answers: answers{"a": allowed()},
			watch: mayList("a team=a", "b"), want: WatchScope{Watchable: []string{"a"}}, candidates: []string{"a"}, changed: true},
		"SelectedBusy": {reason: "one that is not selected any more stays until its owners are cleaned up after", program: policy.Program{NamespaceSelector: teamA}, answers: answers{"a": allowed(), "b": allowed()},
			watch: mayList("a team=a", "b"), busy: []string{"b"}, want: WatchScope{Watchable: []string{"a", "b"}}, candidates: []string{"a", "b"}, changed: true},
		"SelectedUnlisted": {reason: "nothing is known yet", program: policy.Program{NamespaceSelector: teamA}, watch: &fakeNamespaceWatch{}, want: WatchScope{Undecided: []string{""}}},
		"SelectedBefore": {reason: "what is known goes on while the list is listed anew", program: policy.Program{NamespaceSelector: teamA}, answers: answers{"a": allowed()},
			watch: &fakeNamespaceWatch{}, known: []string{"a"}, want: WatchScope{Watchable: []string{"a"}}, candidates: []string{"a"}},
		"SelectedDenied": {reason: "labels cannot be read; what is known goes on", program: policy.Program{NamespaceSelector: teamA}, answers: answers{"a": allowed()},
			watch: mayNotList(), known: []string{"a"}, want: WatchScope{Watchable: []string{"a"}}, candidates: []string{"a"},
			problem: "Forbidden: cannot list, watch namespaces in all namespaces as ambit: spec.scope.namespaceSelector cannot be followed"},
		"ClusterScoped": {reason: "there is nowhere else to see them", clusterScoped: true, answers: answers{"": denied("")}, known: []string{"a"},
			problem: "Forbidden: cannot list, watch things.example.com in all namespaces as ambit"},
		"Namespaces": {reason: "the scope selects the owners themselves", clusterScoped: true, answers: answers{"": allowed()}, limit: []string{"b"},
			program: policy.Program{Owner: policy.Owner{GVK: namespaceKind}, Namespaces: []string{"a"}}, want: WatchScope{Watchable: []string{""}},
			problem: `OutOfScope: nothing is served: the policy looks for owners in "a", and Ambit is limited to "b" by --namespaces`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			permissions := &fakePermissions{answers: tc.answers, pending: map[string]bool{}}
			for _, place := range tc.pending {
				permissions.pending[place] = true
			}
			watch := tc.watch
			if watch == nil {
				watch = &fakeNamespaceWatch{}
			}
			views := New(wantsAll)
			views.SetCandidates(tc.known)
			r := NewResolver(Options{
				Scope: ownerscope.New(&tc.program, tc.limit), Requests: permissions, Answers: permissions,
				Namespaces: NewNamespaceList(watch), Views: views, User: "ambit",
				IsRetiring: func() bool { return tc.retiring }, BusyNamespaces: func() []string { return tc.busy },
			})
			scope, changed := r.ResolveScope(things, !tc.clusterScoped)
			problem := ""
			if scope.Problem != nil {
				problem = scope.Problem.Reason + ": " + scope.Problem.Message
			}
			if diff := cmp.Diff(tc.problem, problem); diff != "" {
				t.Errorf("%s: problem (-want +got):\n%s", tc.reason, diff)
			}
			scope.Problem = nil
			if diff := cmp.Diff(tc.want, scope); diff != "" || changed != tc.changed {
				t.Errorf("%s: selects others: %t (-want +got):\n%s", tc.reason, changed, diff)
			}
			if diff := cmp.Diff(tc.candidates, views.KnownCandidates()); diff != "" {
				t.Errorf("%s: candidates (-want +got):\n%s", tc.reason, diff)
			}
			if tc.watch == nil && len(watch.calls) > 0 {
				t.Errorf("%s: the namespaces are listed", tc.reason)
			}
		})
	}
}

// TestRequests: about all namespaces everything is asked first, and only what it takes to see owners where
// that is denied; what was asked about namespaces that are not looked at any more is given back.
func TestRequests(t *testing.T) {
	cases := map[string]struct {
		reason        string
		program       policy.Program
		clusterScoped bool
		narrow        bool
		answers       answers
		want          string
	}{
		"First":     {reason: "with all permitted, nothing is asked about each", want: `require "" 3, release unsought`},
		"Narrow":    {reason: "an earlier revision knows that all is not", narrow: true, want: `set "" 1, release unsought`},
		"Granted":   {reason: "what was asked stays asked", answers: answers{"": allowed()}, want: `require "" 1, release unsought`},
		"Denied":    {reason: "the rest is asked about each namespace", answers: answers{"": denied(""), "a": allowed()}, want: `set "" 1, release unsought, require "a" 1`},
		"Refused":   {reason: "no more is asked than whether that is over", answers: answers{"": refused()}, want: `set "" 1, release unsought`},
		"Cluster":   {reason: "it is where the owners are worked on", clusterScoped: true, answers: answers{"": denied("")}, want: `release unsought, set "" 2`},
		"Named":     {reason: "nothing is asked about all", program: policy.Program{Namespaces: []string{"b", "a"}}, answers: answers{"a": allowed(), "b": allowed()}, want: `release unsought, require "a" 1, require "b" 1`},
		"NamedNone": {reason: "there is nothing to ask about", program: policy.Program{Namespaces: []string{"a"}, Exclude: []string{"a"}}, want: `release unsought`},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			permissions := &fakePermissions{answers: tc.answers, narrow: tc.narrow}
			r := NewResolver(Options{
				Scope: ownerscope.New(&tc.program, nil), Requests: permissions, Answers: permissions, Namespaces: NewNamespaceList(mayList("a")),
				Views: New(wantsAll), IsRetiring: func() bool { return false }, BusyNamespaces: func() []string { return nil }, User: "ambit",
			})
			r.ResolveScope(things, !tc.clusterScoped)
			if diff := cmp.Diff(tc.want, strings.Join(permissions.calls, ", ")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReleaseCandidates(t *testing.T) {
	permissions, views := &fakePermissions{}, New(wantsAll)
	views.SetCandidates([]string{"a"})
	NewResolver(Options{Requests: permissions, Views: views}).ReleaseCandidates()
	if views.KnownCandidates() != nil || len(permissions.calls) != 1 {
		t.Errorf("candidates %v, calls %v", views.KnownCandidates(), permissions.calls)
	}
}

// TestNowhereProblem: every verb that is missing is a denial, and the message says what to grant.
func TestNowhereProblem(t *testing.T) {
	r := NewResolver(Options{Namespaces: NewNamespaceList(mayNotList()), User: "ambit"})
	p := r.NowhereProblem(denied("").ProblemFor(things, "", "list"))
	if len(p.Denied) != 4 || !p.Terminal || p.Reason != v1alpha1.ReasonForbidden || !strings.Contains(p.Message, "grant one of them") {
		t.Errorf("got %+v", p)
	}
}
