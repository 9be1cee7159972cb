package policykinds

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/recordedkinds"
	"github.com/ambit-dev/ambit/pkg/policy"
)

var (
	shop   = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Shop"}
	secret = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	other  = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"}
	owner  = types.NamespacedName{Namespace: "n", Name: "x"}
)

// bench are the kinds of a policy that has Shops own Secrets, and what they say of kinds that are
// needed no more.
type bench struct {
	*Kinds
	discovery *discovery.Cache
	released  []schema.GroupVersionKind
	// served are versions by kind. failing is what is answered in place of all of them; nil: nothing is.
	served  map[schema.GroupKind]string
	failing error
}

func newBench() *bench {
	b := &bench{served: map[schema.GroupKind]string{shop.GroupKind(): "v1", secret.GroupKind(): "v1"}}
	b.discovery = discovery.New(discovery.Options{Served: b.find})
	program := &policy.Program{Owner: policy.Owner{GVK: shop}, Children: []*policy.Child{{ID: "copy", GVK: secret}}}
	b.Kinds = New(program, b.discovery, func(gone []schema.GroupVersionKind) { b.released = append(b.released, gone...) })
	return b
}

// find is discovery.Options.Served.
func (b *bench) find(_ context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
	found := map[schema.GroupKind]discovery.ServedKind{}
	for _, kind := range kinds {
		version, ok := b.served[kind]
		if !ok {
			found[kind] = discovery.ServedKind{Err: b.failing}
			continue
		}
		gvk := kind.WithVersion(version)
		resource, _ := meta.UnsafeGuessKindToResource(gvk)
		found[kind] = discovery.ServedKind{Mappings: []*meta.RESTMapping{{Resource: resource, GroupVersionKind: gvk, Scope: meta.RESTScopeRoot}}}
	}
	return found, nil
}

func TestResolveKind(t *testing.T) {
	cases := map[string]struct {
		reason  string
		serve   func(b *bench)
		unasked bool // no round has been made
		want    string
		found   bool
		gone    bool
	}{
		"Unasked":      {reason: "nobody has said anything", unasked: true, want: v1alpha1.ReasonSyncing},
		"Served":       {reason: "it can be used", found: true},
		"OtherVersion": {reason: "what is there can be removed", serve: func(b *bench) { b.served[secret.GroupKind()] = "v2" }, want: v1alpha1.ReasonInvalid, found: true},
		"Unserved":     {reason: "there is no such kind", serve: func(b *bench) { delete(b.served, secret.GroupKind()) }, want: v1alpha1.ReasonKindMissing, gone: true},
		"Unavailable": {reason: "it may be served", serve: func(b *bench) {
			delete(b.served, secret.GroupKind())
			b.failing = errors.New("no answer")
		}, want: v1alpha1.ReasonUnavailable},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			if tc.serve != nil {
				tc.serve(b)
			}
			if b.HaveLookedUp() {
				t.Error("all kinds were looked up, and no round has been made")
			}
			if !tc.unasked {
				b.discovery.PollRound(t.Context())
			}
			if got := b.HaveLookedUp(); got == tc.unasked {
				t.Errorf("all kinds were looked up: %t", got)
			}
			found, problem := b.ResolveKind(secret)
			reason, gone := "", false
			if problem != nil {
				reason, gone = problem.Reason, problem.Gone
			}
			if reason != tc.want || gone != tc.gone || (found.GVR.Resource != "") != tc.found {
				t.Errorf("%s: %q, gone %t, found %v", tc.reason, reason, gone, found)
			}
		})
	}
}

// TestConcernsAny: a policy has to do with the kinds that it names, and with those of records only as
// far as they are served.
func TestConcernsAny(t *testing.T) {
	b := newBench()
	kinds := map[schema.GroupKind]bool{other.GroupKind(): true}
	b.RetainKind(owner, other)
	b.LookupKind(other)
	if b.ConcernsAny(kinds) {
		t.Error("a kind that a record names concerns the policy, and it is not known whether it is served")
	}
	if got := b.OwnersOf(kinds); !slices.Equal(got, []types.NamespacedName{owner}) {
		t.Errorf("it concerns %v", got)
	}
	b.served[other.GroupKind()] = "v1"
	b.discovery.PollRound(t.Context())
	if !b.ConcernsAny(kinds) || !b.ConcernsAny(map[schema.GroupKind]bool{shop.GroupKind(): true}) {
		t.Error("a kind of which there are objects, or the kind of the owners, concerns nobody")
	}
}

// TestReleaseKinds: of the kinds that an owner needed, those of the policy stay, and others are released
// when no owner needs them.
func TestReleaseKinds(t *testing.T) {
	b := newBench()
	for _, gvk := range []schema.GroupVersionKind{shop, other} {
		if _, problem := b.ResolveFor(owner, gvk); problem.Reason != v1alpha1.ReasonSyncing {
			t.Errorf("%v: %v", gvk, problem)
		}
	}
	if all := b.AllKinds(); !slices.Contains(all, other) || !slices.Contains(all, shop) {
		t.Errorf("needed are %v", all)
	}
	b.ReleaseKinds(owner, func(gvk schema.GroupVersionKind) bool { return gvk == other })
	if len(b.released) > 0 {
		t.Errorf("%v are released, and needed", b.released)
	}
	b.ReleaseAllKinds(owner)
	if !slices.Equal(b.released, []schema.GroupVersionKind{other}) || slices.Contains(b.AllKinds(), other) {
		t.Errorf("released are %v, needed %v", b.released, b.AllKinds())
	}
}

// TestTooManyKinds: what is beyond the limit has that as its problem, and is not looked up.
func TestTooManyKinds(t *testing.T) {
	b := newBench()
	for i := range recordedkinds.OwnerLimit + 1 {
		gvk := schema.GroupVersionKind{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1", Kind: "Thing"}
		_, problem := b.ResolveFor(owner, gvk)
		if refused := problem.Message == TooManyKinds().Message; refused != (i == recordedkinds.OwnerLimit) {
			t.Errorf("kind %d: %s", i, problem.Message)
		}
	}
}

// TestResourceNeeds: what is not known yet is left out, and said to be.
func TestResourceNeeds(t *testing.T) {
	b := newBench()
	if list, complete := b.ResourceNeeds(false); len(list) > 0 || complete {
		t.Errorf("nothing is known: %v, complete %t", list, complete)
	}
	b.HaveLookedUp()
	b.discovery.PollRound(t.Context())
	list, complete := b.ResourceNeeds(false)
	if !complete || len(list) == 0 {
		t.Fatalf("%v, complete %t", list, complete)
	}
	for _, n := range list {
		if n.Resource.Resource == "secrets" && !n.Elsewhere {
			t.Error("cluster-scoped children are taken to be in the owner's namespace")
		}
	}
	if list, _ := b.ResourceNeeds(true); list[0].Elsewhere && list[len(list)-1].Elsewhere {
		t.Errorf("all of %v are elsewhere, and the owners are in no namespace either", list)
	}
	if resource, known := b.ResourceOf(secret); !known || resource.Resource != "secrets" || b.IsNamespaced(secret) || !b.IsNamespaced(other) {
		t.Errorf("secrets are %v, known %t", resource, known)
	}
}
