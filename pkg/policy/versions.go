package policy

import (
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// versionField is the last part of metadata.resourceVersion.
const versionField = "resourceVersion"

// readsVersion reports whether metadata.resourceVersion is among what is read of an object, if
// only because all of its metadata is.
func readsVersion(set *fields.Set) bool { return set.Touches("metadata", versionField) }

// refuseVersions refuses what names the resourceVersion of the owner or of a child: that changes
// by Ambit's own writes, so that what is computed from it would never come to rest.
func (c *compiler) refuseVersions(n *yaml.Node, reads map[string]*fields.Set, s scope) {
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		of, set := c.readOf(name, reads[name], s)
		if set.Names("metadata", versionField) {
			c.refuseVersion(n, of)
		}
	}
}

// refuseVersion is refuseVersions for one name, which may stand for anything.
func (c *compiler) refuseVersion(n *yaml.Node, of string) {
	what := "the owner"
	switch {
	case slices.Contains(c.names.children, of):
		what = "child \"" + of + "\""
	case of != "owner":
		return
	}
	message := "the resourceVersion of " + what + " cannot be read: Ambit's own writes change it, so that nothing would come to rest; " +
		"use metadata.generation, which changes with the spec, or the fields that matter"
	if at, offset := findText(n, regexp.MustCompile(`[.?\['"]`+versionField)); at != nil {
		c.in(at, offset, "%s", message)
		return
	}
	c.at(n, "%s", message)
}

// refuseElementVersions is refuseVersions for what is read of objects as elements of forEach,
// which is known at the end.
func (c *compiler) refuseElementVersions() {
	if len(c.list) > 0 {
		return // it may have been said
	}
	for i, child := range c.program.Children {
		if c.reads[child.ID].Names("metadata", versionField) {
			c.refuseVersion(c.field("", "children", i).node, child.ID)
		}
	}
}

// FollowsVersions reports whether the program reads the resourceVersion of watched objects: then
// what it wants may follow from what it has written.
func (p *Program) FollowsVersions() bool {
	return slices.ContainsFunc(p.Watches, func(w *Watch) bool { return w.Versions })
}

// HidesVersions reports whether something reads all metadata of the owner or of a child, and so
// sees it without the resourceVersion.
func (p *Program) HidesVersions() bool {
	return p.Owner.Versionless || slices.ContainsFunc(p.Children, func(child *Child) bool { return child.Versionless })
}

// See returns what expressions see of an owner, which is not changed.
func (o *Owner) See(owner map[string]any) map[string]any { return see(owner, o.Versionless) }

// See returns what expressions see of an object of the child, which is not changed.
func (child *Child) See(object map[string]any) map[string]any {
	return see(object, child.Versionless)
}

// see leaves out of an object's metadata, where that is read as a whole, what changes by Ambit's
// own writes.
func see(object map[string]any, versionless bool) map[string]any {
	metadata, ok := object["metadata"].(map[string]any)
	if !versionless || !ok {
		return object
	}
	object, metadata = maps.Clone(object), maps.Clone(metadata)
	delete(metadata, versionField)
	delete(metadata, "managedFields")
	object["metadata"] = metadata
	return object
}
