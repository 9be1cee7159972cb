package ownerreconcile

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/policykinds"
)

// TestUnusedKinds: a kind that was looked up for one object is needed as long as the owner's reconciles
// look it up.
func TestUnusedKinds(t *testing.T) {
	thing := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}
	b := newBench(t, "")
	b.options.Kinds = policykinds.New(b.options.Program, discovery.New(discovery.Options{}), func([]schema.GroupVersionKind) {})
	p := b.begin(nil)
	if !p.seekKind(thing) {
		t.Fatal("it is not to be looked up")
	}
	p.releaseUnusedKinds()
	if !slices.Contains(b.options.Kinds.AllKinds(), thing) {
		t.Error("it is released by the reconcile that has looked it up")
	}
	b.begin(nil).releaseUnusedKinds()
	if slices.Contains(b.options.Kinds.AllKinds(), thing) {
		t.Error("no reconcile needs it, and it is not released")
	}
}
