package controller

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// TestKindIsAnotherNow: when a kind is another one than it was, the streams of its objects
// are laid out anew, and rights are asked for as it is now.
func TestKindIsAnotherNow(t *testing.T) {
	op := askOperator(t)
	name := types.NamespacedName{Namespace: "home", Name: "x"}
	state, _ := op.state(name, ownerOf("uid"), informer.Lister{})
	home, _ := op.answer("home")
	p := op.newPass(nil, state, false)
	state.sources = newSources()
	state.sources.home = placed{answer: home, own: home}
	l := &layout{operator: op, name: name, s: state.sources}
	configMap := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	l.findKind(configMap, false)
	if !p.holds(state.sources, false, home) {
		t.Fatal("the sources do not hold, and nothing has changed")
	}
	asks := func(resource string) bool {
		return slices.ContainsFunc(op.asked["home"].accesses, func(a access.Access) bool { return a.Resource == resource })
	}
	if !asks("configmaps") {
		t.Fatalf("asked: %v", op.asked["home"].accesses)
	}
	server := serverOf(op.program)
	for _, m := range server.served {
		if m.GroupVersionKind == configMap {
			m.Resource.Resource = "others"
		}
	}
	op.engine.discovery = server.cache(t)
	if p.holds(state.sources, false, home) {
		t.Error("the sources hold")
	}
	op.askAnew()
	if asks("configmaps") || !asks("others") {
		t.Errorf("asked: %v", op.asked["home"].accesses)
	}
}
