package controller

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// thing is a kind that no policy names.
var thing = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}

// fakeServer answers which kinds there are. The zero value serves none.
type fakeServer struct {
	served []*meta.RESTMapping
	silent bool               // it answers nothing
	asked  []schema.GroupKind // in the last round
}

// serverOf serves the kinds of a policy, all of them in namespaces.
func serverOf(p *policy.Program) *fakeServer {
	s := &fakeServer{}
	for _, n := range p.Needs() {
		resource, _ := meta.UnsafeGuessKindToResource(n.GVK)
		s.serve(n.GVK, resource.Resource, meta.RESTScopeNamespace)
	}
	return s
}

func (s *fakeServer) serve(gvk schema.GroupVersionKind, resource string, scope meta.RESTScope) {
	s.served = append(s.served, &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource(resource), GroupVersionKind: gvk, Scope: scope})
}

// find is Options.Served.
func (s *fakeServer) find(_ context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
	s.asked = kinds
	if s.silent {
		return nil, errors.New("no answer")
	}
	found := map[schema.GroupKind]discovery.ServedKind{}
	for _, m := range s.served {
		gk := m.GroupVersionKind.GroupKind()
		found[gk] = discovery.ServedKind{Mappings: append(found[gk].Mappings, m)}
	}
	return found, nil
}

// wanted returns the kinds that an controller looks up here. They have no answer by that.
func (s *fakeServer) wanted(t *testing.T, e *Controller) []schema.GroupKind {
	t.Helper()
	s.asked, s.silent = nil, true
	e.discovery.PollRound(t.Context())
	s.silent = false
	return s.asked
}

// TestReportsAskNothing: who asks how policies fare has no kind looked up, so that the first round is
// about all kinds that the policies name, and not about that of the owners alone.
func TestReportsAskNothing(t *testing.T) {
	serving, retiring := compiled(t, "a", "1", ""), compiled(t, "b", "1", "")
	server := serverOf(serving)
	e := idleWith(t, server, clocktesting.NewFakeClock(time.Unix(1000, 0)), serving, retiring)
	if err := e.Set([]*policy.Program{serving}, []*policy.Program{retiring}); err != nil {
		t.Fatal(err)
	}
	e.Reports()
	e.RetiredOf("ambit-system/b")
	if asked := server.wanted(t, e); len(asked) > 0 {
		t.Errorf("reports have kinds looked up: %v", asked)
	}
	policyTurn{e.revisions.CurrentOf("ambit-system/a")}.reconcilePolicy(t.Context())
	if asked := server.wanted(t, e); len(asked) != 2 {
		t.Errorf("a policy's first turn has these looked up: %v, want its owners' and its child's kind", asked)
	}
}
