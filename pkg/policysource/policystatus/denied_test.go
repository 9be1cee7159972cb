package policystatus

import (
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// TestPermitted: what is missing where owners left the scope is said to be for cleaning up,
// which creates nothing; of what may be wanted it is not.
func TestPermitted(t *testing.T) {
	in := func(namespace, resource string, verbs ...string) (list []v1alpha1.DeniedAccess) {
		for _, verb := range verbs {
			list = append(list, v1alpha1.DeniedAccess{Verb: verb, Resource: resource, Namespace: namespace, Message: "cannot " + resource + " in " + namespace})
		}
		return list
	}
	const cleaning = "owners in namespaces that left the scope cannot be cleaned up after, and count until then, for want of rights on "
	all := func(lists ...[]v1alpha1.DeniedAccess) (joined []v1alpha1.DeniedAccess) {
		for _, list := range lists {
			joined = append(joined, list...)
		}
		return joined
	}
	narrow := &policy.Program{Namespaces: []string{"web"}}
	for name, c := range map[string]struct {
		reason  string
		program *policy.Program
		denied  []v1alpha1.DeniedAccess
		want    string
		count   int
	}{
		"Wide":     {reason: "there is nothing outside", program: &policy.Program{}, denied: in("other", "pods", "list", "create"), want: "cannot pods in other", count: 2},
		"Within":   {reason: "it is wanted", program: narrow, denied: in("web", "pods", "list", "create"), want: "cannot pods in web", count: 2},
		"Outside":  {reason: "it is for cleaning up", program: narrow, denied: in("other", "pods", "get", "list", "watch", "create", "delete"), want: cleaning + `pods in namespace "other": get, list, watch, delete`, count: 4},
		"Excluded": {reason: "that is outside, too", program: &policy.Program{Exclude: []string{"other"}}, denied: in("other", "pods", "list"), want: cleaning + `pods in namespace "other": list`, count: 1},
		"Creating": {reason: "nothing is made there", program: narrow, denied: in("other", "pods", "create")},
		"Both": {reason: "each is said", program: narrow, denied: all(in("other", "pods", "list"), in("web", "pods", "list")),
			want: "cannot pods in web; " + cleaning + `pods in namespace "other": list`, count: 2},
		"Many": {reason: "a message names few", program: narrow, denied: all(in("a", "x", "list", "watch"), in("a", "y", "list"), in("b", "x", "list"), in("b", "y", "list")),
			want: cleaning + `x in namespace "a": list, watch; y in namespace "a": list; x in namespace "b": list; 5 accesses in all`, count: 5},
		"Elsewhere": {reason: "a child may be wanted there", program: &policy.Program{Namespaces: []string{"web"}, Watches: []*policy.Watch{{AllNamespaces: true}}},
			denied: in("other", "pods", "list"), want: "cannot pods in other", count: 1},
		"Labels":  {reason: "labels decide", program: &policy.Program{Namespaces: []string{"web"}, NamespaceSelector: labels.Everything()}, denied: in("other", "pods", "list"), want: "cannot pods in other", count: 1},
		"Cluster": {reason: "it is in no namespace", program: narrow, denied: in("", "namespaces", "list"), want: "cannot namespaces in ", count: 1},
		"Account": {reason: "the policy cannot act", program: &policy.Program{Namespaces: []string{"web"}, Namespace: "team", ServiceAccount: "sites"},
			denied: []v1alpha1.DeniedAccess{{Verb: "list", Resource: "serviceaccounts", Namespace: "team", Name: "sites", Message: "no account"}}, want: "no account", count: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := StatusOf(registry.PolicyState{ID: "p", Resolution: registry.Resolution{Program: c.program}}, &Report{Serving: true, Denied: c.denied}, 0)
			if s.Permitted.Message != c.want || len(s.Denied) != c.count || (s.Permitted.Status == True) != (c.count == 0) {
				t.Errorf("%s: it is %v, and %d are denied; want %q and %d", c.reason, s.Permitted, len(s.Denied), c.want, c.count)
			}
		})
	}
}
