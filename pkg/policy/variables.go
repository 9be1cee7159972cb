package policy

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

func (c *compiler) variables() {
	for i, v := range c.policy.Spec.Variables {
		what := "variables." + v.Name
		before := scope{vars: slices.Concat([]string{"owner", "policy"}, c.variablesBefore(i), c.names.watches)}
		out := Variable{Name: v.Name, Expr: c.unread(c.field(what, "variables", i, "expression"), before, wantAny)}
		if out.Expr != nil {
			out.Watches = c.watchesBehind(out.Expr.Vars()...)
			c.readVariable(out, before)
		}
		c.program.Variables = append(c.program.Variables, out)
	}
}

// variablesBefore returns the legal names among those of the first variables.
func (c *compiler) variablesBefore(i int) []string {
	var out []string
	for _, v := range c.policy.Spec.Variables[:i] {
		if nameProblem(v.Name) == "" {
			out = append(out, v.Name)
		}
	}
	return out
}

// watchesBehind returns the watches that names stand for: themselves, or as what
// variables so far read. Sorted; nil for none.
func (c *compiler) watchesBehind(names ...string) []string {
	var out []string
	for _, name := range names {
		if slices.Contains(c.names.watches, name) {
			out = append(out, name)
		}
	}
	for _, v := range c.program.Variables {
		if slices.Contains(names, v.Name) {
			out = append(out, v.Watches...)
		}
	}
	return sortedSet(out)
}

// alias is a variable whose value is objects of something else: of a watch, or of
// another alias.
type alias struct{ name, of string }

// readVariable notes what a variable reads. Of objects that are its value, as they
// are, that is only what finding them takes: the rest is what is read of the variable,
// see readAliases.
func (c *compiler) readVariable(v Variable, s scope) {
	found := c.found(v.Expr, s)
	for name, set := range v.Expr.Reads() {
		if found == nil || !c.isOfObjects(name) {
			continue
		}
		whole, list := isWhole(set, found[name]), slices.Contains(c.names.lists, name)
		if whole || list && isWhole(set.Sub(fields.Any), found[name].Sub(fields.Any)) {
			c.alias(v.Name, name, whole && list)
			c.read(found, s)
			return
		}
	}
	c.read(v.Expr.Reads(), s)
}

// isWhole says whether all is read, but only because it is the value.
func isWhole(set, found *fields.Set) bool { return set.IsAll() && !found.IsAll() }

// isOfObjects says whether a name stands for objects that watches select.
func (c *compiler) isOfObjects(name string) bool {
	return slices.Contains(c.names.watches, name) || slices.ContainsFunc(c.aliases, func(a alias) bool { return a.name == name })
}

// found returns what is read to find the value of an expression without a look at
// it; nil if that cannot be said, or is of no use.
func (c *compiler) found(x *cel.Expr, s scope) map[string]*fields.Set {
	if len(c.watchesBehind(x.Vars()...)) == 0 {
		return nil
	}
	only, issues := c.env(s).Compile("optional.of(" + x.Source() + "\n).hasValue()")
	if len(issues) > 0 {
		return nil
	}
	return only.Reads()
}

// alias notes that a variable's value is one object of something, or a list of them.
func (c *compiler) alias(name, of string, list bool) {
	c.aliases = append(c.aliases, alias{name, of})
	known := c.types.objects[of]
	if known != nil {
		c.types.objects[name] = known
	}
	if !list {
		return
	}
	c.names.lists = append(c.names.lists, name)
	if known != nil {
		c.types.lists[name] = c.types.lists[of]
	}
}

// readAliases notes what is read of aliases as read of what they stand for, now that
// all is compiled. An alias of an alias comes after it.
func (c *compiler) readAliases() {
	for _, a := range slices.Backward(c.aliases) {
		c.reads[a.of] = c.reads[a.of].Union(c.reads[a.name])
	}
}
