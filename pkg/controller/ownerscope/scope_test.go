package ownerscope

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/policy"
)

func TestScope(t *testing.T) {
	cases := map[string]struct {
		reason           string
		policy, excluded []string
		limit            []string
		want             []string
	}{
		"Unlimited":        {reason: "one cluster-wide stream", want: []string{everywhere}},
		"UnlimitedExclude": {reason: "what is excluded is left out of a cluster-wide stream's events", excluded: []string{"a"}, want: []string{everywhere}},
		"Policy":           {reason: "one stream for each namespace", policy: []string{"b", "a"}, want: []string{"a", "b"}},
		"Limit":            {reason: "the process's limit holds without a scope", limit: []string{"b", "a", "a"}, want: []string{"a", "b"}},
		"Both":             {reason: "only what both allow", policy: []string{"a", "b"}, limit: []string{"b", "c"}, want: []string{"b"}},
		"Exclude":          {reason: "exclude wins", policy: []string{"a", "b"}, excluded: []string{"b"}, want: []string{"a"}},
		"Nothing":          {reason: "no overlap is no namespace, not all of them", policy: []string{"a"}, limit: []string{"b"}, want: []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := New(&policy.Program{Namespaces: tc.policy, Exclude: tc.excluded}, tc.limit).NamedNamespaces()
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOutOfScope: it is said which namespaces each names, and only where there can be no
// owners, whatever comes.
func TestOutOfScope(t *testing.T) {
	var many []string
	for i := range maxNamed + 2 {
		many = append(many, fmt.Sprintf("n%02d", i))
	}
	for name, tc := range map[string]struct {
		program policy.Program
		limit   []string
		want    string // empty: there is no problem
	}{
		"Unlimited": {},
		"Common":    {program: policy.Program{Namespaces: []string{"a", "b"}}, limit: []string{"b", "c"}},
		"Nothing": {program: policy.Program{Namespaces: []string{"b", "a"}}, limit: []string{"c"},
			want: `nothing is served: the policy looks for owners in "a", "b", and Ambit is limited to "c" by --namespaces`},
		"ExcludedAll": {program: policy.Program{Namespaces: []string{"a"}, Exclude: []string{"a"}},
			want: `nothing is served: the policy looks for owners in "a" but not in "a"`},
		"ExcludedLimit": {program: policy.Program{Exclude: []string{"a"}}, limit: []string{"a"},
			want: `nothing is served: the policy looks for owners everywhere but not in "a", and Ambit is limited to "a" by --namespaces`},
		"Labels": {program: policy.Program{NamespaceSelector: labels.Everything(), Namespaces: []string{"a"}}, limit: []string{"b"}},
		"Many": {program: policy.Program{Namespaces: []string{"a"}}, limit: many,
			want: `nothing is served: the policy looks for owners in "a", and Ambit is limited to ` + listText(many[:maxNamed]) + `, 2 more by --namespaces`},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if problem := New(&tc.program, tc.limit).OutOfScope(); problem != nil {
				got = problem.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestSelector: what a selector selects is not known before the first list; what is named beside it is
// in the scope from the beginning, and what is excluded never.
func TestSelector(t *testing.T) {
	selector, err := labels.Parse("team=a")
	if err != nil {
		t.Fatal(err)
	}
	s := New(&policy.Program{NamespaceSelector: selector, Namespaces: []string{"named"}, Exclude: []string{"not"}}, []string{"mine", "named", "not", "other"})
	has := func(when string, want ...string) {
		t.Helper()
		var got []string
		for _, name := range []string{"mine", "named", "not", "other", "outside"} {
			if s.HasNamespace(name) {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	if !s.HasSelector() || !s.IsLimited() || New(&policy.Program{}, nil).HasSelector() {
		t.Error("labels decide only where there is a selector")
	}
	team := labels.Set{"team": "a"}
	listed := &Namespaces{"mine": team, "named": nil, "not": team, "other": {"team": "b"}, "outside": team}
	has("nothing is listed", "named")
	if names, known := s.SearchedNamespaces(s.SelectedNames(), nil); known {
		t.Errorf("nothing is listed, and %v are searched", names)
	}
	names, changed := s.SetListed(listed)
	if diff := cmp.Diff([]string{"mine", "named"}, names); diff != "" || !changed {
		t.Errorf("changed: %t (-want +got):\n%s", changed, diff)
	}
	has("all are listed", "mine", "named")
	before := s.SelectedNames()
	if _, changed := s.SetListed(listed); changed || s.SelectedNames() != before {
		t.Error("the same list is another one")
	}
	if names, known := s.SearchedNamespaces(before, nil); !known || len(names) != 2 {
		t.Errorf("%v are searched", names)
	}
	delete(*listed, "mine")
	if _, changed := s.SetListed(listed); !changed {
		t.Error("one that is gone makes no difference")
	}
	has("one is gone", "named")
}

// TestSearchedNamespaces: without a selector a watch looks in what is named, else in what is listed,
// without what is excluded.
func TestSearchedNamespaces(t *testing.T) {
	listed := &Namespaces{"a": nil, "b": nil, "c": nil}
	for name, tc := range map[string]struct {
		program policy.Program
		limit   []string
		listed  *Namespaces
		want    []string
		known   bool
	}{
		"Named":    {program: policy.Program{Namespaces: []string{"b", "a"}, Exclude: []string{"a"}}, listed: listed, want: []string{"b"}, known: true},
		"Limit":    {limit: []string{"b"}, want: []string{"b"}, known: true},
		"Listed":   {program: policy.Program{Exclude: []string{"b"}}, listed: listed, want: []string{"a", "c"}, known: true},
		"Unlisted": {program: policy.Program{Exclude: []string{"b"}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, known := New(&tc.program, tc.limit).SearchedNamespaces(nil, tc.listed)
			if diff := cmp.Diff(tc.want, got); diff != "" || known != tc.known {
				t.Errorf("known: %t (-want +got):\n%s", known, diff)
			}
		})
	}
}
