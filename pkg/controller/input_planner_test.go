package controller

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/placeuses"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestScopeOfWant: a record may say of a kind without namespaces that there is an object in
// one, or of a kind with namespaces that it is in none. Nothing can be there: such a place
// opens no stream and asks for no right, and nothing blocks it, so that its entry goes.
func TestScopeOfWant(t *testing.T) {
	roles := schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	configMaps := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	cases := map[string]struct {
		reason    string
		kind      schema.GroupVersionKind
		child     string // empty: the policy has none any more
		namespace string
		opens     bool
	}{
		"ClusterScoped":            {"it is where such objects are", roles, "", "", true},
		"ClusterScopedInNamespace": {"it has no namespace", roles, "", "victim", false},
		"Namespaced":               {"it is where such objects are", configMaps, "", "other", true},
		"NamespacedInNone":         {"all namespaces together are no place of an object", configMaps, "", "", false},
		"ChildInNone":              {"nor are they for a child that there is", configMaps, "copies", "", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			op := operatorFor(t, askPolicy, access.New(access.Options{}))
			server := serverOf(op.program)
			server.serve(roles, "clusterroles", meta.RESTScopeRoot)
			server.serveTo(t, op)
			owner := &unstructured.Unstructured{Object: map[string]any{}}
			owner.SetNamespace("home")
			l := &inputPlanner{policyController: op, owner: owner, name: types.NamespacedName{Namespace: "home", Name: "x"}, uses: placeuses.ByPlace{}, s: newOwnerInputs()}
			want := plan.Query{Location: plan.Location{Child: tc.child, Namespace: tc.namespace}, GVK: tc.kind}
			l.addChildQuery(want, policy.FindChild(op.program.Children, tc.child))
			slot, there := l.s.children[want.Location]
			if !there || slot.problem != nil {
				t.Errorf("%s: the place is known: %t, and blocked by %v", tc.reason, there, slot.problem)
			}
			if opens := len(l.childQueries) > 0; opens != tc.opens || opens != (len(l.uses) > 0) {
				t.Errorf("%s: spots %v and uses %v, want some: %t", tc.reason, l.childQueries, l.uses, tc.opens)
			}
		})
	}
}
