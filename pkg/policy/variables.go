package policy

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

func (c *policyCompiler) compileVariables() {
	for i, v := range c.policy.Spec.Variables {
		what := "variables." + v.Name
		before := scope{vars: slices.Concat([]string{"owner", "policy"}, c.variablesBefore(i), c.symbols.watches), timed: true}
		out := Variable{Name: v.Name, Expr: c.compileUnread(c.specField(what, "variables", i, "expression"), before, wantAny)}
		if out.Expr != nil && out.Expr.OutputType().TypeName() == "schedule" {
			f := c.specField(what, "variables", i, "expression")
			c.In(f.node, firstWord(f.node.Value), "%s is a schedule, which no variable can hold: ask it here, as in schedule('0 3 * * *', 'Europe/Berlin').last()", f.what)
		}
		if out.Expr != nil {
			out.Watches = c.symbols.watchesBehind(out.Expr.FreeVariables()...)
			c.symbols.noteWatches(v.Name, out.Watches)
			out.Timed = out.Expr.AsksTime() || slices.ContainsFunc(out.Expr.FreeVariables(), func(name string) bool { return c.symbols.timed[name] })
			c.symbols.timed[v.Name] = out.Timed
			c.readVariable(out, before)
		}
		c.program.Variables = append(c.program.Variables, out)
	}
}

// variablesBefore returns the legal names among those of the first variables.
func (c *policyCompiler) variablesBefore(i int) []string {
	var out []string
	for _, v := range c.policy.Spec.Variables[:i] {
		if c.symbols.nameProblem(v.Name) == "" {
			out = append(out, v.Name)
		}
	}
	return out
}

// readVariable notes what a variable reads. Of objects that are its value, as they
// are, that is only what finding them takes: the rest is what is read of the variable,
// see readAliases.
func (c *expressionCompiler) readVariable(v Variable, s scope) {
	found := c.readsToFind(v.Expr, s)
	for name, set := range v.Expr.FieldsRead() {
		if found == nil || !c.symbols.isOfObjects(name) {
			continue
		}
		whole, list := isWhole(set, found[name]), slices.Contains(c.symbols.lists, name)
		if whole || list && isWhole(set.SetBelow(fields.Any), found[name].SetBelow(fields.Any)) {
			c.symbols.addAlias(v.Name, name, whole && list)
			c.noteReads(found, s)
			return
		}
	}
	c.noteReads(v.Expr.FieldsRead(), s)
}

// isWhole says whether all is read, but only because it is the value.
func isWhole(set, found *fields.Set) bool { return set.IsAll() && !found.IsAll() }

// readsToFind returns what is read to find the value of an expression without a look at
// it; nil if that cannot be said, or is of no use.
func (c *expressionCompiler) readsToFind(x *cel.Expr, s scope) map[string]*fields.Set {
	if len(c.symbols.watchesBehind(x.FreeVariables()...)) == 0 {
		return nil
	}
	return c.readsOf("optional.of("+x.Source()+"\n).hasValue()", s)
}

// readAliases notes what is read of aliases as read of what they stand for, now that
// allNames is compiled. An alias of an alias comes after it.
func (c *expressionCompiler) readAliases() {
	for _, a := range slices.Backward(c.symbols.aliases) {
		c.reads[a.of] = c.reads[a.of].Union(c.reads[a.name])
	}
}
