package controller

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
)

// TestKindIsAnotherNow: when a kind is another one than it was, the streams of its objects
// are laid out anew, and the policy needs what it is now.
func TestKindIsAnotherNow(t *testing.T) {
	op := operatorFor(t, askPolicy, access.New(access.Options{}))
	name := types.NamespacedName{Namespace: "home", Name: "x"}
	state, _ := op.ownerStateOf(name, ownerOf("uid"), nil)
	home, _ := op.permissions.ForOwners("home")
	p := op.newOwnerReconciler(nil, state, false)
	state.inputs = newOwnerInputs()
	state.inputs.home = placePermissions{answer: home, own: home}
	l := &inputPlanner{policyController: op, name: name, s: state.inputs}
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	l.findKind(configMap, false)
	if !p.haveInputsFor(state.inputs, false, home) {
		t.Fatal("the sources do not hold, and nothing has changed")
	}
	asks := func(resource string) bool {
		needs, _ := op.resourceNeeds()
		return slices.ContainsFunc(needs, func(n placepermissions.Need) bool { return n.Resource.Resource == resource })
	}
	if !asks("configmaps") {
		t.Fatal("it is not asked about the kind")
	}
	server := serverOf(op.program)
	for _, m := range server.served {
		if m.GroupVersionKind == configMap {
			m.Resource.Resource = "others"
		}
	}
	server.serveTo(t, op)
	if p.haveInputsFor(state.inputs, false, home) {
		t.Error("the sources hold")
	}
	if asks("configmaps") || !asks("others") {
		t.Error("it is asked about the kind as it was")
	}
}
