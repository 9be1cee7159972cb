package controller

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
		"Unlimited":        {reason: "one cluster-wide stream", want: []string{allNamespaces}},
		"UnlimitedExclude": {reason: "what is excluded is left out of a cluster-wide stream's events", excluded: []string{"a"}, want: []string{allNamespaces}},
		"Policy":           {reason: "one stream for each namespace", policy: []string{"b", "a"}, want: []string{"a", "b"}},
		"Limit":            {reason: "the process's limit holds without a scope", limit: []string{"b", "a", "a"}, want: []string{"a", "b"}},
		"Both":             {reason: "only what both allow", policy: []string{"a", "b"}, limit: []string{"b", "c"}, want: []string{"b"}},
		"Exclude":          {reason: "exclude wins", policy: []string{"a", "b"}, excluded: []string{"b"}, want: []string{"a"}},
		"Nothing":          {reason: "no overlap is no namespace, not all of them", policy: []string{"a"}, limit: []string{"b"}, want: []string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := scope(&policy.Program{Namespaces: tc.policy, Exclude: tc.excluded}, tc.limit)
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
			if problem := scopeProblem(&tc.program, tc.limit); problem != nil {
				got = problem.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
