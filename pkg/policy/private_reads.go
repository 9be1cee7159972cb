package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// madePrivateKeys are the keys that no expression may read, by child: read from the document, since expressions are compiled before
// all children are.
func madePrivateKeys(children []v1alpha1.Child) map[string][]string {
	keys := map[string][]string{}
	for _, child := range children {
		for _, m := range child.Make {
			if m.CA != nil {
				keys[child.ID] = append(keys[child.ID], "tls.key", "next.key")
			}
			if m.Certificate != nil {
				keys[child.ID] = append(keys[child.ID], "tls.key")
			}
			if m.Key != "" {
				keys[child.ID] = append(keys[child.ID], m.Key)
			}
			if m.Rotate != nil && m.Rotate.KeepPrevious != "" {
				keys[child.ID] = append(keys[child.ID], m.Rotate.KeepPrevious)
			}
		}
	}
	return keys
}

// refusePrivate refuses what reads a made value of a child that is private, or all that its Secret has.
func (c *expressionCompiler) refusePrivate(n *yaml.Node, reads map[string]*fields.Set, s scope) {
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		if of, set := c.readOf(name, reads[name], s); set != nil {
			c.refusePrivateOf(n, of, set)
		}
	}
}

func (c *expressionCompiler) refusePrivateOf(n *yaml.Node, child string, set *fields.Set) {
	for _, key := range c.private[child] {
		if !set.TouchesPath("data", key) {
			continue
		}
		message := fmt.Sprintf("data[%q] of child %q is made and private: no expression can read it; name the Secret and the key where it is needed, as in secretKeyRef", key, child)
		if !set.NamesPath("data", key) {
			message = fmt.Sprintf("the data of child %q has made values that are private: read single keys of it that are not, as in data['ca.crt']", child)
		}
		if at, offset := findText(n, regexp.MustCompile(`\b`+regexp.QuoteMeta(child)+`\b`)); at != nil {
			c.In(at, offset, "%s", message)
			return
		}
		c.At(n, "%s", message)
		return
	}
}

// refuseElementPrivate is refusePrivate for what is read of objects as elements of forEach, which is known at the end.
func (c *policyCompiler) refuseElementPrivate() {
	if c.Count() > 0 {
		return // it may have been said
	}
	for i, child := range c.program.Children {
		if set := c.reads[child.ID]; set != nil {
			c.refusePrivateOf(c.specField("", "children", i).node, child.ID, set)
		}
	}
}
