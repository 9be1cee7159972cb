package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// checkReadyRefs checks the names that an expression or template asks `ready(...)` of. All
// are in scope, but only children are ready or not.
func (c *expressionCompiler) checkReadyRefs(n *yaml.Node, names []string, s scope) {
	for _, name := range names {
		switch {
		case name == s.one:
			c.atReadyRef(n, name, fmt.Sprintf("whether %q is ready cannot depend on itself", name))
		case !slices.Contains(c.symbols.children, name):
			c.atReadyRef(n, name, fmt.Sprintf("ready() can be asked of a child only; %q is none%s", name, spelling.Suggest(name, c.symbols.children)))
		}
	}
}

// atReadyRef adds a mistake at the first place in n where a name is asked for.
func (c *expressionCompiler) atReadyRef(n *yaml.Node, name, message string) {
	asks := regexp.MustCompile(`\bready\(\s*` + regexp.QuoteMeta(name) + `\s*\)`)
	if at, offset := findText(n, asks); at != nil {
		c.In(at, offset, "%s", message)
		return
	}
	c.At(n, "%s", message)
}

// findText returns the first string at or below n that has a match, and where.
func findText(n *yaml.Node, what *regexp.Regexp) (*yaml.Node, int) {
	if syntax.IsText(n) {
		if at := what.FindStringIndex(n.Value); at != nil {
			return n, at[0]
		}
	}
	for _, below := range n.Content {
		if at, offset := findText(below, what); at != nil {
			return at, offset
		}
	}
	return nil, 0
}

// versionField is the last part of metadata.resourceVersion.
const versionField = "resourceVersion"

// readsVersion reports whether metadata.resourceVersion is among what is read of an object, if
// only because all of its metadata is.
func readsVersion(set *fields.Set) bool { return set.TouchesPath("metadata", versionField) }

// refuseVersions refuses what names the resourceVersion of the owner or of a child: that changes
// by Ambit's own writes, so that what is computed from it would never come to rest.
func (c *expressionCompiler) refuseVersions(n *yaml.Node, reads map[string]*fields.Set, s scope) {
	for _, name := range slices.Sorted(maps.Keys(reads)) {
		of, set := c.readOf(name, reads[name], s)
		if set.NamesPath("metadata", versionField) {
			c.refuseVersion(n, of)
		}
	}
}

// refuseVersion is refuseVersions for one name, which may stand for anything.
func (c *expressionCompiler) refuseVersion(n *yaml.Node, of string) {
	what := "the owner"
	switch {
	case slices.Contains(c.symbols.children, of):
		what = "child \"" + of + "\""
	case of != "owner":
		return
	}
	message := "the resourceVersion of " + what + " cannot be read: Ambit's own writes change it, so that nothing would come to rest; " +
		"use metadata.generation, which changes with the spec, or the fields that matter"
	if at, offset := findText(n, regexp.MustCompile(`[.?\['"]`+versionField)); at != nil {
		c.In(at, offset, "%s", message)
		return
	}
	c.At(n, "%s", message)
}

// refuseElementVersions is refuseVersions for what is read of objects as elements of forEach,
// which is known at the end.
func (c *policyCompiler) refuseElementVersions() {
	if c.Count() > 0 {
		return // it may have been said
	}
	for i, child := range c.program.Children {
		if c.reads[child.ID].NamesPath("metadata", versionField) {
			c.refuseVersion(c.specField("", "children", i).node, child.ID)
		}
	}
}
