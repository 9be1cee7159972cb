package controller

import (
	"context"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// confirm reads the objects of the entries that a mark drops, each at most once in a
// pass: streams do not show those that have lost their labels, nor one whose create was
// accepted while its answer was lost. gone: there are none, and the mark may be written.
// did: something was learnt that the next plan has to know.
func (p *pass) confirm(ctx context.Context, mark plan.OwnerMetadata) (gone, did bool, err error) {
	record := mark.Drops(p.program, p.owner)
	gone = true
	for _, e := range record.Entries {
		there, known := p.confirmed[e.ObjectKey()]
		if known {
			gone = gone && !there
			continue
		}
		there, ok, err := p.seek(ctx, mark, record, e)
		if err != nil || !ok {
			return false, true, err
		}
		gone, did = gone && !there, did || there
	}
	return gone, did, nil
}

// seek reads the object of one entry. ok is false if that could not be done now; a
// problem of the owner's metadata then says why.
func (p *pass) seek(ctx context.Context, mark plan.OwnerMetadata, record inventory.Inventory, e inventory.Entry) (there, ok bool, err error) {
	if !p.seekKind(e.GVK) {
		p.problems[plan.KeyOwner] = *tooManyKinds()
		return false, false, nil
	}
	found, served := p.engine.discovery.LookupAnyVersion(e.GVK)
	if !served {
		_, problem := p.kindOf(e.GVK)
		if problem != nil && !problem.Gone {
			p.problems[plan.KeyOwner] = *problem
		}
		return false, problem != nil && problem.Gone, nil
	}
	at := p.state.sources.at(e.Namespace)
	if p.held(plan.KeyOwner, func() string { return markText(mark) }, at, at.own.lacks(found.GVR.GroupResource(), "", "get")) {
		return false, false, nil
	}
	client, err := p.engine.options.Clients(p.identity)
	if err != nil {
		return false, false, err
	}
	applier := apply.Applier{Client: client, Manager: p.manager, Identity: p.user()}
	outcome := applier.Find(ctx, record, e, apply.Target{Resource: found.GVR, OwnerUID: p.ownerUID(), Lives: p.lives})
	if outcome.Problem != nil && !p.isMissing(found, *outcome.Problem) {
		p.unconfirmed(ctx, mark, e, found, *outcome.Problem)
		return false, false, nil
	}
	there = outcome.Object != nil
	if there {
		p.met = append(p.met, met{kind: e.GVK, object: outcome.Object, hidden: true})
		ctrllog.FromContext(ctx).Info("found by the record, though no stream shows it", "kind", e.GVK.Kind, "namespace", e.Namespace, "object", e.Name)
	}
	p.confirmed[e.ObjectKey()] = there
	return there, true, nil
}

// unconfirmed lets the next plan know that the mark cannot be written.
func (p *pass) unconfirmed(ctx context.Context, mark plan.OwnerMetadata, e inventory.Entry, found discovery.Resource, problem plan.Problem) {
	a := access.Access{Verb: "get", Group: found.GVR.Group, Resource: found.GVR.Resource, Name: e.Name}
	level := 1
	if p.refuse(plan.KeyOwner, markText(mark), e.Namespace, a, problem) && ctx.Err() == nil {
		level = 0
	}
	ctrllog.FromContext(ctx).V(level).Info("whether an object of the record is gone cannot be seen", "reason", problem.Reason, "message", problem.Message)
}

// isMissing says whether the kind is not served, which its streams know as well: then
// the plan knows it too.
func (p *pass) isMissing(k discovery.Resource, problem plan.Problem) bool {
	s := p.state.sources
	for i, need := range s.needs[:s.watching] {
		if problem.Reason == v1alpha1.ReasonKindMissing && need.Key.GVR == k.GVR && s.views[i].State() == informer.Missing {
			return true
		}
	}
	return false
}
