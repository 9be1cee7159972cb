package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// projections is what a policy's streams keep of each object. It is made once per
// policy, for it is the same for each owner. Not changed after that.
type projections struct {
	owner    projection
	children map[schema.GroupVersionKind]projection
	watches  map[string]projection // by watch id
	// ours selects the policy's children.
	ours string
}

// projection are fields, and the form of the streams that keep just these.
type projection struct {
	fields *fields.Set
	form   informer.Form
}

func projectionsOf(program *policy.Program, manager string) projections {
	k := projections{
		owner: newProjection(program.Owner.Fields.Union(nil).
			Add("metadata", "finalizers").Add("metadata", "annotations", v1alpha1.AnnotationChildren)),
		children: map[schema.GroupVersionKind]projection{},
		watches:  map[string]projection{},
		ours:     labels.Set{v1alpha1.LabelPolicy: program.Name}.String(),
	}
	for _, child := range slices.Concat(program.Children, program.Ensured) {
		p := newProjection(k.children[child.GVK].fields.Union(plan.ObservedFields(child)))
		p.form.Manager = manager
		k.children[child.GVK] = p
	}
	for _, w := range program.Watches {
		p := newProjection(w.Fields)
		p.form.Metadata, p.form.Versions = w.Fields.MetadataOnly(), w.Versions
		k.watches[w.ID] = p
	}
	return k
}

func newProjection(set *fields.Set) projection {
	return projection{fields: set, form: informer.Form{Fields: set.String()}}
}
