package plan

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// render makes the desired object, and says whether to go on.
func (p *planner) render(ctx context.Context, c *child) bool {
	what := "children." + c.ID + ".template"
	rendered, f := evaluate(&p.scope, what, c.Template, func() (any, error) { return c.Template.Render(ctx, p.scope.vars) })
	if f != nil {
		return c.block(f.problem())
	}
	object, ok := rendered.(map[string]any)
	if !ok {
		return c.block(p.scope.fail(what, fmt.Errorf("the result is a %T, not an object", rendered)).problem())
	}
	if problem := p.finish(c, object); problem != nil {
		return c.block(problem)
	}
	c.desired = &unstructured.Unstructured{Object: object}
	c.state.Desired = c.desired
	return p.alone(c)
}

// finish adds to a rendered object what makes it this owner's child.
func (p *planner) finish(c *child, object map[string]any) *Problem {
	what := "children." + c.ID + ".template"
	meta, ok := object["metadata"].(map[string]any)
	if !ok || text(meta["name"]) == "" {
		return p.scope.fail(what+".metadata.name", errors.New("the name must be a string that is not empty")).problem()
	}
	c.state.Name = text(meta["name"])
	owner := p.snapshot.Owner
	if namespace, given := meta["namespace"]; given && namespace != owner.GetNamespace() {
		return &Problem{Reason: v1alpha1.ReasonNotSupported, Terminal: true, Message: fmt.Sprintf(
			"%s: %s is to be in namespace %q: children outside of the owner's namespace are not implemented yet",
			p.scope.program.Place(what+".metadata.namespace"), c.name(), fmt.Sprint(namespace))}
	}
	dropNulls(object)
	if isSecret(c.GVK) {
		if key, ok := encodeStringData(object); !ok {
			return p.scope.fail(what+".stringData."+key, errors.New("the value must be a string: use string(...)")).problem()
		}
	}
	cleanMetadata(meta)
	if namespace := owner.GetNamespace(); namespace != "" {
		meta["namespace"] = namespace
	}
	object["apiVersion"], object["kind"] = c.GVK.ToAPIVersionAndKind()
	p.mark(object, meta)
	return nil
}

// mark adds labels, the record of fields, and the ownerReference.
func (p *planner) mark(object, meta map[string]any) {
	owner := p.snapshot.Owner
	labels := submap(meta, "labels")
	labels[v1alpha1.LabelManagedBy] = v1alpha1.ManagedBy
	labels[v1alpha1.LabelPolicy] = p.program.Name
	labels[v1alpha1.LabelOwnerUID] = string(owner.GetUID())
	submap(meta, "annotations")[AnnotationFields] = recordOf(object)
	references, _ := meta["ownerReferences"].([]any)
	meta["ownerReferences"] = append(references, map[string]any{
		"apiVersion": owner.GetAPIVersion(), "kind": owner.GetKind(), "name": owner.GetName(), "uid": string(owner.GetUID()),
		"controller": true, "blockOwnerDeletion": true,
	})
}

// cleanMetadata removes what is not a template's to set.
func cleanMetadata(meta map[string]any) {
	for key := range meta {
		if isServerMetadata(key) && key != "name" {
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
