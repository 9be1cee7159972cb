package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/bindings"
	"github.com/ambit-dev/ambit/pkg/plan/desired"
	"github.com/ambit-dev/ambit/pkg/plan/madevalues"
	"github.com/ambit-dev/ambit/pkg/plan/objectmeta"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// renderInstance makes the desired object, and says whether to go on.
func (p *planner) renderInstance(ctx context.Context, c *child, it *instance) bool {
	what := p.part + "." + c.ID + ".template"
	p.scope.BindElement(c.Child, it.element)
	rendered, f := bindings.Evaluate(&p.scope, what, c.Template, func() (any, error) { return c.Template.RenderShared(ctx, p.scope.Vars, desired.ChangedKeys()...) })
	problem := p.resolveMade(ctx, c, it)
	p.scope.UnbindElement(c.Child)
	if f != nil {
		problem = f.Problem()
	}
	if problem != nil {
		return it.markBlocked(c.inElement(it, problem))
	}
	object, ok := rendered.(map[string]any)
	if !ok {
		return it.markBlocked(p.scope.Fail(what, fmt.Errorf("the result is a %T, not an object", rendered)).Problem())
	}
	if problem := p.finishObject(c, it, object); problem != nil {
		return it.markBlocked(c.inElement(it, problem))
	}
	it.desired = &unstructured.Unstructured{Object: object}
	it.state.Desired = it.desired
	return true
}

// finishObject adds to a rendered object what makes it this owner's child.
func (p *planner) finishObject(c *child, it *instance, object map[string]any) *Problem {
	what := p.part + "." + c.ID + ".template"
	meta, ok := object["metadata"].(map[string]any)
	if !ok || objectmeta.TextOf(meta["name"]) == "" {
		return p.scope.Fail(what+".metadata.name", errors.New("the name must be a string that is not empty")).Problem()
	}
	it.state.Name = objectmeta.TextOf(meta["name"])
	if problem := p.locateInstance(c, it, meta); problem != nil {
		return problem
	}
	desired.DropNulls(object)
	if desired.IsSecret(c.GVK) {
		if key, ok := desired.EncodeStringData(object); !ok {
			return p.scope.Fail(what+".stringData."+key, errors.New("the value must be a string: use string(...)")).Problem()
		}
	}
	if problem := cmp.Or(p.rendered.addObject(c, it, object), p.lastGeneration(c, it)); problem != nil {
		return problem
	}
	desired.CleanMetadata(meta)
	it.state.Dropped = desired.DropReserved(meta, it.ownership == mergedInto)
	if it.at.Namespace != "" {
		meta["namespace"] = it.at.Namespace
	}
	object["apiVersion"], object["kind"] = c.GVK.ToAPIVersionAndKind()
	if it.ownership != mergedInto {
		p.signObject(c, it, object, meta)
	}
	return nil
}

// locateInstance says where the object is to be, and how it is tied to its owner.
func (p *planner) locateInstance(c *child, it *instance, meta map[string]any) *Problem {
	what := p.part + "." + c.ID + ".template.metadata.namespace"
	namespaced, known := p.snapshot.Namespaced[c.GVK]
	if !known {
		return p.unknownKind(c)
	}
	given := meta["namespace"]
	namespace, ok := given.(string)
	switch {
	case given != nil && !ok:
		return p.scope.Fail(what, fmt.Errorf("the value is %s, not a string", ssadiff.DescribeValue(given))).Problem()
	case !namespaced && namespace != "":
		return p.scope.Fail(what, fmt.Errorf("objects of kind %s have no namespace", c.GVK.Kind)).Problem()
	case namespaced && namespace == "":
		namespace = p.namespace
	}
	if namespaced && namespace == "" {
		return p.scope.Fail(what, fmt.Errorf("the owner has no namespace, so %s has to say in which it is to be", c.objectName(it))).Problem()
	}
	it.at = Location{Child: c.ID, Namespace: namespace}
	it.state.Namespace = namespace
	it.ownership = p.ownershipOf(c.Child, namespace)
	return nil
}

// unknownKind says why it is not known whether objects of the child's kind have
// namespaces.
func (s *subject) unknownKind(c *child) *Problem {
	if in := s.snapshot.Children[Location{Child: c.ID}]; in.Blocked != nil {
		return in.Blocked
	}
	return lookingUp(c.GVK)
}

// signObject adds labels, the record of fields, and the proof that the object is ours.
func (p *planner) signObject(c *child, it *instance, object, meta map[string]any) {
	fieldSet := ssadiff.FieldSetHash(object)
	if c.Apply == v1alpha1.ApplyRecreate {
		fieldSet += "." + ssadiff.ObjectDigest(object)
	}
	labels := desired.SubMap(meta, "labels")
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	labels[v1alpha1.LabelPolicy] = p.program.Label
	annotations := desired.SubMap(meta, "annotations")
	annotations[v1alpha1.AnnotationFields] = fieldSet
	if it.ownership == ownedByPolicy {
		annotations[v1alpha1.AnnotationEnsuredBy] = p.ensuredBy()
		return
	}
	labels[v1alpha1.LabelOwnerUID] = string(p.owner)
	if p.program.NamesChild(c.Child) {
		annotations[v1alpha1.AnnotationChild] = c.ID
	}
	if n := p.ownerGeneration(); n > 0 || c.MayOwn {
		annotations[v1alpha1.AnnotationGeneration] = strconv.Itoa(n + 1)
	}
	if it.ownership == ownedByReference {
		p.addOwnerReference(meta)
	} else if claim := p.tokenOf(c, it); claim != "" {
		annotations[v1alpha1.AnnotationClaim] = claim
	}
}

// addOwnerReference adds the ownerReference.
func (s *subject) addOwnerReference(meta map[string]any) {
	owner := s.snapshot.Owner
	references, _ := meta["ownerReferences"].([]any)
	meta["ownerReferences"] = append(references, map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()),
		"controller": true, "blockOwnerDeletion": true,
	})
}

// resolveMade notes what is to be made for an object. The element is bound.
func (p *planner) resolveMade(ctx context.Context, c *child, it *instance) *Problem {
	request, err := madevalues.ResolveRequest(ctx, c.Child, p.scope.Vars)
	var failure *madevalues.Failure
	if errors.As(err, &failure) {
		return p.scope.Fail(failure.What, failure.Err).Problem()
	}
	it.values, it.state.Make = request, request
	return nil
}
