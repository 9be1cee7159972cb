package plan

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/plan/ssadiff"
)

// renderInstance makes the desired object, and says whether to go on.
func (p *planner) renderInstance(ctx context.Context, c *child, it *instance) bool {
	what := p.part + "." + c.ID + ".template"
	p.scope.bindElement(c, it)
	rendered, f := evaluate(&p.scope, what, c.Template, func() (any, error) { return c.Template.Render(ctx, p.scope.vars) })
	p.scope.unbindElement(c)
	if f != nil {
		return it.block(c.inElement(it, f.problem()))
	}
	object, ok := rendered.(map[string]any)
	if !ok {
		return it.block(p.scope.fail(what, fmt.Errorf("the result is a %T, not an object", rendered)).problem())
	}
	if problem := p.finishObject(c, it, object); problem != nil {
		return it.block(c.inElement(it, problem))
	}
	it.desired = &unstructured.Unstructured{Object: object}
	it.state.Desired = it.desired
	return p.isAlone(c, it)
}

// inElement says in which element of a list a problem is.
func (c *child) inElement(it *instance, problem *Problem) *Problem {
	if c.ForEach == nil || it.state.Name != "" {
		return problem
	}
	located := *problem
	located.Message += fmt.Sprintf(" (element %d of child %q)", it.number, c.ID)
	return &located
}

// finishObject adds to a rendered object what makes it this owner's child.
func (p *planner) finishObject(c *child, it *instance, object map[string]any) *Problem {
	what := p.part + "." + c.ID + ".template"
	meta, ok := object["metadata"].(map[string]any)
	if !ok || text(meta["name"]) == "" {
		return p.scope.fail(what+".metadata.name", errors.New("the name must be a string that is not empty")).problem()
	}
	it.state.Name = text(meta["name"])
	if problem := p.locateInstance(c, it, meta); problem != nil {
		return problem
	}
	dropNulls(object)
	if isSecret(c.GVK) {
		if key, ok := encodeStringData(object); !ok {
			return p.scope.fail(what+".stringData."+key, errors.New("the value must be a string: use string(...)")).problem()
		}
	}
	if problem := cmp.Or(p.size.add(c, it, object), p.lastGeneration(c, it)); problem != nil {
		return problem
	}
	cleanMetadata(meta)
	it.state.Dropped = dropReserved(meta, it.ownership)
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
		return p.scope.fail(what, fmt.Errorf("the value is %s, not a string", ssadiff.DescribeValue(given))).problem()
	case !namespaced && namespace != "":
		return p.scope.fail(what, fmt.Errorf("objects of kind %s have no namespace", c.GVK.Kind)).problem()
	case namespaced && namespace == "":
		namespace = p.namespace
	}
	if namespaced && namespace == "" {
		return p.scope.fail(what, fmt.Errorf("the owner has no namespace, so %s has to say in which it is to be", c.name(it))).problem()
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
	labels := submap(meta, "labels")
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	labels[v1alpha1.LabelPolicy] = p.program.Name
	annotations := submap(meta, "annotations")
	annotations[v1alpha1.AnnotationFields] = fieldSet
	if it.ownership == ownedByPolicy {
		annotations[v1alpha1.AnnotationEnsuredBy] = p.ensuredBy()
		return
	}
	labels[v1alpha1.LabelOwnerUID] = string(p.owner)
	if c.Keep > 0 || p.program.Deletion == v1alpha1.DeletionOrdered {
		annotations[v1alpha1.AnnotationChild] = c.ID
	}
	if n := p.generation(); n > 0 || c.MayOwn {
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

// cleanMetadata removes what is not a template's to set.
func cleanMetadata(meta map[string]any) {
	for key := range meta {
		if ssadiff.IsServerMetadata(key) && key != "name" {
			delete(meta, key)
		}
	}
}

// submap returns the map at a key of m, made if need be.
func submap(m map[string]any, key string) map[string]any {
	sub, ok := m[key].(map[string]any)
	if !ok {
		sub = map[string]any{}
		m[key] = sub
	}
	return sub
}

// dropNulls removes fields that are null: to the API server they are not there.
func dropNulls(v any) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if value == nil {
				delete(v, key)
				continue
			}
			dropNulls(value)
		}
	case []any:
		for _, e := range v {
			dropNulls(e)
		}
	}
}

func isSecret(gvk schema.GroupVersionKind) bool {
	return gvk == schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
}

// encodeStringData turns a Secret's stringData into data, as the API server does:
// stringData itself can never be read back. If a value is no string, as the API
// server demands, it returns the key.
func encodeStringData(secret map[string]any) (key string, ok bool) {
	plain, ok := secret["stringData"].(map[string]any)
	if !ok {
		return "", true
	}
	delete(secret, "stringData")
	data := submap(secret, "data")
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		value, ok := plain[key].(string)
		if !ok {
			return key, false
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(value))
	}
	return "", true
}
