package policy

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// scope is what an expression sees.
type scope struct {
	// vars are the names that it may refer to.
	vars []string
	// object is what the variable `object` stands for: "owner", or the id of a watch,
	// of whose objects it is one.
	object string
	// one is the child whose id stands for one object although it has a forEach.
	one string
	// element is the variable of a forEach, and of the schema of its elements, nil if
	// that is not known.
	element string
	of      *cel.Schema
}

// everything returns the scope of what is evaluated after all is observed: status,
// conditions and the like.
func (c *expressionCompiler) scopeOfAll() scope { return scope{vars: c.symbols.all()} }

// selecting returns the scope of what says which objects are watched: what is read
// of watches is not known there.
func (c *expressionCompiler) scopeOfSelection() scope {
	out := scope{vars: []string{"owner", "policy"}}
	for _, name := range c.symbols.variables {
		if len(c.symbols.watchesBehind(name)) == 0 {
			out.vars = append(out.vars, name)
		}
	}
	return out
}

// before returns the scope of what decides on the objects of a child: all but these
// objects.
func (c *expressionCompiler) scopeBefore(child string) scope {
	return scope{vars: slices.DeleteFunc(c.symbols.all(), func(s string) bool { return s == child })}
}

// ofEach returns s for the objects of a child with forEach, or s itself.
func (s scope) ofEach(child v1alpha1.Child, of *cel.Schema) scope {
	if as := elementOf(child); as != "" {
		s.vars = append(slices.Clip(s.vars), as)
		s.element, s.of = as, of
	}
	return s
}

// read notes what an expression or template reads in its scope.
func (c *expressionCompiler) noteReads(reads map[string]*fields.Set, s scope) {
	for name, set := range reads {
		name, set = c.readOf(name, set, s)
		c.reads[name] = c.reads[name].Union(set)
	}
}

// readOf returns what a name stands for in a scope, and what is read of one object of it.
func (c *expressionCompiler) readOf(name string, set *fields.Set, s scope) (string, *fields.Set) {
	switch {
	case name == "object":
		return s.object, set
	case name != s.one && slices.Contains(c.symbols.lists, name):
		return name, set.Sub(fields.Any)
	}
	return name, set
}
