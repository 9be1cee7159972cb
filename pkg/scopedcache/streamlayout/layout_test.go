package streamlayout

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
)

func need(names ...string) *Need {
	n := &Need{Namespaces: map[string]struct{}{}, IsOwned: true}
	for _, name := range names {
		n.Namespaces[name] = struct{}{}
	}
	return n
}

// TestStreamsWanted: which streams there are to be.
func TestStreamsWanted(t *testing.T) {
	all, root := &Need{All: true}, need("c")
	root.IsOwned = false
	configured := map[string]cache.Config{"a": {}, "b": {}}
	withRest := map[string]cache.Config{"a": {}, "": {}}
	cases := map[string]struct {
		reason     string
		scope      meta.RESTScope
		configured map[string]cache.Config
		rule       Rule
		needs      []*Need
		isUnknown  bool
		everywhere access.Decision
		want       []string
		undecided  bool
	}{
		"Nobody":           {reason: "what nobody needs has no stream", rule: Fixed},
		"All":              {reason: "nothing is said: one for all", needs: []*Need{need("a")}, want: []string{""}},
		"Cluster":          {reason: "a kind without namespaces has one", scope: meta.RESTScopeRoot, rule: Fixed, needs: []*Need{all}, want: []string{""}},
		"Configured":       {reason: "those that are configured and needed", configured: configured, rule: Fixed, needs: []*Need{need("b", "z")}, want: []string{"b"}},
		"ConfiguredRest":   {reason: "what is not named is in the one of all", configured: withRest, needs: []*Need{need("z")}, want: []string{""}},
		"ConfiguredNoRest": {reason: "what is named needs not the one of all", configured: withRest, needs: []*Need{need("a")}, want: []string{"a"}},
		"Fixed":            {reason: "those by rule that are needed", rule: Fixed, needs: []*Need{need("a", "z")}, want: []string{"a"}},
		"NotKnown":         {reason: "more may come", rule: Selected, needs: []*Need{all}, isUnknown: true, want: []string{"a", "b"}, undecided: true},
		"Everywhere":       {reason: "one for all where that is allowed", rule: Permitted, needs: []*Need{all}, everywhere: access.Allowed, want: []string{""}},
		"NotReviewed":      {reason: "it stays as it is until rights are known", rule: Permitted, needs: []*Need{all}, want: []string{"old"}, undecided: true},
		"Candidates":       {reason: "the cache itself stays within the candidates", rule: Permitted, needs: []*Need{root}, everywhere: access.Denied},
		"BeyondCandidates": {reason: "a handle does not", rule: Permitted, needs: []*Need{need("a", "z", "")}, everywhere: access.Denied, want: []string{"a", "z"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.scope == nil {
				tc.scope = meta.RESTScopeNamespace
			}
			wanted, decided := Layout{
				Kind: &kindsettings.Kind{Mapping: &meta.RESTMapping{Scope: tc.scope}, Namespaces: tc.configured}, Rule: tc.rule,
				Needs: tc.needs, Names: []string{"a", "b"}, IsKnown: !tc.isUnknown,
				DecideEverywhere: func() access.Decision { return tc.everywhere },
				Current:          func() map[string]cache.Config { return map[string]cache.Config{"old": {}} },
			}.StreamsWanted()
			if diff := cmp.Diff(tc.want, slices.Sorted(maps.Keys(wanted))); diff != "" || decided == tc.undecided {
				t.Errorf("%s: decided %t (-want +got):\n%s", tc.reason, decided, diff)
			}
		})
	}
}
