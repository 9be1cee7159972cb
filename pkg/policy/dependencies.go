package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/graph"
	"github.com/ambit-dev/ambit/pkg/internal/spelling"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// orderChildren finds what each child depends on and orders the children.
func (c *policyCompiler) orderChildren() {
	var ids []string
	byID, deps := map[string]*Child{}, map[string][]string{}
	for i, child := range c.program.Children {
		if byID[child.ID] != nil || !slices.Contains(c.symbols.children, child.ID) {
			continue // said by collectNames
		}
		c.findDependencies(i, child)
		ids = append(ids, child.ID)
		byID[child.ID], deps[child.ID] = child, slices.Concat(child.Children, child.Asked)
	}
	order, err := graph.OrderByDependency(ids, deps)
	if err != nil {
		c.reportCycle(err)
		return
	}
	c.program.Children = nil
	for _, id := range order {
		c.program.Children = append(c.program.Children, byID[id])
	}
}

func (c *policyCompiler) findDependencies(i int, child *Child) {
	read, asked := child.namesBefore()
	for _, name := range read {
		if c.symbols.kindOf(name) == "child" {
			child.Children = append(child.Children, name)
		}
	}
	child.Children = append(child.Children, c.checkDependsOn(i, child.ID)...)
	child.Children, child.Watches = sortedSet(child.Children), c.symbols.watchesBehind(read...)
	child.Asked = slices.DeleteFunc(sortedSet(asked), func(name string) bool {
		return slices.Contains(child.Children, name) || !slices.Contains(c.symbols.children, name)
	})
}

// namesBefore returns the names that decide on the objects of the child: those that its
// expressions read, and those that they only ask `ready(...)` of.
func (child *Child) namesBefore() (read, asked []string) {
	expressions := []*cel.Expr{child.When}
	if child.ForEach != nil {
		expressions = append(expressions, child.ForEach.In)
	}
	for _, x := range expressions {
		if x != nil {
			read, asked = append(read, x.FreeVariables()...), append(asked, x.AskedReady()...)
		}
	}
	if child.Template != nil {
		read, asked = append(read, child.Template.FreeVariables()...), append(asked, child.Template.AskedReady()...)
	}
	for _, m := range child.Make {
		if m.Issuer != "" {
			read = append(read, m.Issuer)
		}
		for _, t := range m.Texts {
			read, asked = append(read, t.FreeVariables()...), append(asked, t.AskedReady()...)
		}
	}
	return read, asked
}

// checkDependsOn returns the legal ids of that field.
func (c *policyCompiler) checkDependsOn(i int, self string) []string {
	var out []string
	for k, id := range c.policy.Spec.Children[i].DependsOn {
		n := syntax.LookupNearest(c.root, "spec", "children", i, "dependsOn", k)
		switch {
		case id == "":
		case id == self:
			c.At(n, "child %q cannot depend on itself", id)
		case !slices.Contains(c.symbols.children, id):
			c.At(n, "there is no child %q%s", syntax.ShortenText(id), spelling.Suggest(id, c.symbols.children))
		case slices.Contains(out, id):
			c.At(n, "child %q stands here for the second time", id)
		default:
			out = append(out, id)
		}
	}
	return out
}

func (c *policyCompiler) reportCycle(err error) {
	var cycle *graph.CycleError
	if !errors.As(err, &cycle) || len(cycle.Cycle) == 0 {
		c.At(c.root, "ordering the children: %v", err)
		return
	}
	for i, child := range c.policy.Spec.Children {
		if child.ID == cycle.Cycle[0] {
			c.At(syntax.LookupNearest(c.root, "spec", "children", i, "id"), "children depend on each other in a cycle: %s", strings.Join(cycle.Cycle, " -> "))
			return
		}
	}
}

func sortedSet(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}
