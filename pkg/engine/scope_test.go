package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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
