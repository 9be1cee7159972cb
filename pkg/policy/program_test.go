package policy_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestInCluster: who a policy in the cluster acts as, and where its owners are.
func TestInCluster(t *testing.T) {
	type seen struct {
		Identity   string
		Namespaces []string
		Hash       string
	}
	cases := map[string]struct {
		reason  string
		program policy.Program
		want    seen
	}{
		"Own":     {"In Ambit's own namespace it acts as Ambit, everywhere.", policy.Program{Namespace: "ambit", Hash: "h"}, seen{Hash: "h"}},
		"Nowhere": {"Without a namespace it is in none but Ambit's own.", policy.Program{Hash: "h"}, seen{Hash: "h"}},
		"Elsewhere": {"In another one it acts as the account of a Pod there, for owners there.",
			policy.Program{Namespace: "team", Hash: "h"}, seen{"system:serviceaccount:team:default", []string{"team"}, "h in team"}},
		"Named": {"Or as the account that it names.",
			policy.Program{Namespace: "team", ServiceAccount: "robot", Hash: "h"}, seen{"system:serviceaccount:team:robot", []string{"team"}, "h in team"}},
		"Scope": {"A scope of its own stays.",
			policy.Program{Namespace: "team", Namespaces: []string{"a"}, Hash: "h"}, seen{"system:serviceaccount:team:default", []string{"a"}, "h"}},
		"Selector": {"A selector is a scope.",
			policy.Program{Namespace: "team", NamespaceSelector: labels.Everything(), Hash: "h"}, seen{"system:serviceaccount:team:default", nil, "h"}},
		"Exclude": {"And so is what is left out.",
			policy.Program{Namespace: "team", Exclude: []string{"a"}, Hash: "h"}, seen{"system:serviceaccount:team:default", nil, "h"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := tc.program
			got := tc.program.InCluster("ambit")
			if diff := cmp.Diff(tc.want, seen{got.Identity(), got.Namespaces, got.Hash}); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
			if tc.program.ServiceAccount != before.ServiceAccount || tc.program.Hash != before.Hash || !cmp.Equal(tc.program.Namespaces, before.Namespaces) {
				t.Errorf("the program has changed: %+v", tc.program)
			}
		})
	}
}
