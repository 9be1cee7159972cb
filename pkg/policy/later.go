package policy

import (
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// notImplemented refuses what the API has and this version does not do.
func (c *compiler) notImplemented() {
	c.later("serviceAccountName")
	c.later("scope", "namespaceSelector")
	c.laterValue(string(v1alpha1.InformersAuto), "informers")
	for i := range c.policy.Spec.Children {
		c.later("children", i, "forEach")
		c.laterValue(string(v1alpha1.ApplyApply), "children", i, "apply")
		c.laterValue(string(v1alpha1.ExistingRefuse), "children", i, "existing")
		c.laterValue(string(v1alpha1.DeleteDelete), "children", i, "onDelete")
	}
}

// later refuses a field.
func (c *compiler) later(path ...any) {
	if c.field("", path...).node == nil {
		return
	}
	above := find(c.root, append([]any{"spec"}, path[:len(path)-1]...)...)
	c.at(keyNode(above, fmt.Sprint(path[len(path)-1])), "%s is not implemented yet", joinAll("spec", path))
}

// laterValue refuses every legal value of a field but one.
func (c *compiler) laterValue(but string, path ...any) {
	f := c.field("", path...)
	if !f.isText() || f.node.Value == but || !isEnum(f.node.Value) {
		return
	}
	c.at(f.node, "%s: %s is not implemented yet, only %s", joinAll("spec", path), f.node.Value, but)
}

// isEnum says whether v is legal in a field of laterValue; others were refused
// before.
func isEnum(v string) bool {
	switch v {
	case string(v1alpha1.InformersOwner), string(v1alpha1.InformersNamespace), string(v1alpha1.InformersCluster),
		string(v1alpha1.ApplyCreate), string(v1alpha1.ApplyRecreate),
		string(v1alpha1.ExistingAdopt), string(v1alpha1.ExistingMerge), string(v1alpha1.DeleteOrphan):
		return true
	default:
		return false
	}
}
