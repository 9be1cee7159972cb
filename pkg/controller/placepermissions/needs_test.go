package placepermissions

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/policy"
)

func TestAccesses(t *testing.T) {
	seeing := []access.Access{accessTo("list", "", caches), accessTo("watch", "", caches)}
	whole := []access.Access{
		accessTo("get", "", caches), accessTo("list", "", caches), accessTo("watch", "", caches), accessTo("create", "", caches),
		accessTo("patch", "status", caches), accessTo("list", "", pods), accessTo("watch", "", pods),
	}
	creating := []access.Access{accessTo("create", "", deployments), accessTo("list", "", deployments)}
	leftover := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	of := func(verbs ...string) (list []access.Access) {
		for _, verb := range verbs {
			list = append(list, accessTo(verb, "", configMaps))
		}
		return list
	}
	cases := map[string]struct {
		reason   string
		place    string
		scope    Scope
		used     []placeuses.Use
		want     []access.Access
		required int
	}{
		"ToSee":      {reason: "to see owners takes list and watch, whatever else is done with that kind", place: "a", scope: ToSee, want: seeing, required: 2},
		"AtHome":     {reason: "in their namespace all is needed that is not elsewhere", place: "a", scope: AtHome, want: whole, required: 7},
		"Everything": {reason: "in search of owners nothing is required in all namespaces", scope: Everything, want: slices.Concat(whole, creating)},
		"Used":       {reason: "elsewhere only what is made use of", place: "b", used: []placeuses.Use{{Part: "copy"}}, want: creating, required: 2},
		"Optional":   {reason: "what is only of use there is only looked at", place: "b", used: []placeuses.Use{{Part: "copy", Optional: true}}, want: creating[1:]},
		"Both":       {reason: "a place may be both", place: "a", scope: ToSee, used: []placeuses.Use{{Part: "copy"}}, want: slices.Concat(seeing, creating), required: 4},
		"Unused":     {reason: "nothing is asked without a use", place: "b"},
		"Leftover":   {reason: "what no part wants any more is read and removed", place: "b", used: []placeuses.Use{{Kind: leftover}}, want: of("get", "list", "watch", "delete"), required: 4},
		"Released":   {reason: "fields are taken back by a patch", place: "b", used: []placeuses.Use{{Kind: leftover, Released: true}}, want: of("list", "watch", "patch"), required: 3},
		"Together":   {reason: "in all namespaces leftovers are only looked at", used: []placeuses.Use{{Kind: leftover, Optional: true}}, want: of("list", "watch")},
		"Unknown":    {reason: "nothing is asked about a kind that is not known", place: "b", used: []placeuses.Use{{Kind: schema.GroupVersionKind{Kind: "Other"}}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, required := newBench(t).accessesAt(needsOf(), tc.place, tc.scope, tc.used)
			if diff := cmp.Diff(tc.want, got); diff != "" || required != tc.required {
				t.Errorf("%s: %d of them required, want %d (-want +got):\n%s", tc.reason, required, tc.required, diff)
			}
		})
	}
}

// TestAddNeed: of a kind in two versions there is one resource, which is needed for both.
func TestAddNeed(t *testing.T) {
	list := AddNeed(nil, Need{Need: policy.Need{Parts: []string{"a"}, Verbs: []string{"watch"}}, Resource: pods})
	list = AddNeed(list, Need{Need: policy.Need{Parts: []string{"b"}, Verbs: []string{"list", "watch"}}, Resource: pods})
	list = AddNeed(list, Need{Need: policy.Need{Parts: []string{"c"}, Verbs: []string{"get"}}, Resource: pods, Elsewhere: true})
	want := []Need{
		{Need: policy.Need{Parts: []string{"a", "b"}, Verbs: []string{"list", "watch"}}, Resource: pods},
		{Need: policy.Need{Parts: []string{"c"}, Verbs: []string{"get"}}, Resource: pods, Elsewhere: true},
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
