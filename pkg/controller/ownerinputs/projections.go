package ownerinputs

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// projections is what a policy's streams keep of each object. It is the same for each owner, so that it
// is made once. Not changed after that.
type projections struct {
	manager  string
	children map[schema.GroupVersionKind]Projection
	watches  map[string]Projection // by watch id
	// ours selects the policy's children.
	ours string
}

// Projection is what a stream keeps of each object: fields, and the form of the streams that keep just
// these.
type Projection struct {
	Fields *fields.Set
	Form   informer.Form
}

// OwnerProjection returns what is kept of the owners of a policy.
func OwnerProjection(program *policy.Program) Projection {
	return newProjection(program.Owner.Fields.Union(nil).
		Add("metadata", "finalizers").Add("metadata", "annotations", v1alpha1.AnnotationChildren))
}

func newProjections(program *policy.Program, manager string) projections {
	k := projections{
		manager:  manager,
		children: map[schema.GroupVersionKind]Projection{},
		watches:  map[string]Projection{},
		ours:     labels.Set{v1alpha1.LabelPolicy: program.Label}.String(),
	}
	keep := func(gvk schema.GroupVersionKind, more *fields.Set) {
		p := newProjection(k.children[gvk].Fields.Union(more))
		p.Form.Manager = manager
		k.children[gvk] = p
	}
	for _, child := range program.Children {
		keep(child.GVK, plan.ObservedFields(child))
	}
	for _, child := range program.Ensured {
		keep(child.GVK, plan.EnsuredFields(child))
	}
	for _, w := range program.Watches {
		p := newProjection(w.Fields)
		p.Form.Metadata, p.Form.Versions = w.Fields.MetadataOnly(), w.Versions
		k.watches[w.ID] = p
	}
	return k
}

func newProjection(set *fields.Set) Projection {
	return Projection{Fields: set, Form: informer.Form{Fields: set.String()}}
}

// childProjection says what is kept of the objects of a kind. Of one that the policy does not have any
// more it is what proves whose they are.
func (k projections) childProjection(gvk schema.GroupVersionKind) Projection {
	if p, ok := k.children[gvk]; ok {
		return p
	}
	p := newProjection(plan.RecordedFields(gvk))
	p.Form.Manager = k.manager
	return p
}
