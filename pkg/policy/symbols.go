package policy

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// symbolTable has the names that expressions may refer to, as far as they are legal, and what
// they stand for.
type symbolTable struct {
	variables, children, watches []string
	// elements are the variables of forEach.
	elements []string
	// namespaces are the first words of the names of functions.
	namespaces []string
	// lists are the children, watches and aliases that stand for a list of objects.
	lists []string
	// aliases are the variables so far whose value is objects of something else.
	aliases []alias
	// watchesOf are the watches that the variables so far read, themselves or through others.
	watchesOf map[string][]string
	// timed are the variables so far that ask the time, themselves or through others.
	timed map[string]bool
	symbolTypes
}

// alias is a variable whose value is objects of something else: of a watch, or of
// another alias.
type alias struct{ name, of string }

// readyName is what asks for the readiness of a child.
const readyName = "ready"

// boundNames are those that Ambit itself binds.
var boundNames = []string{"owner", "object", "policy", "access", readyName}

// reservedWords cannot be identifiers in CEL.
var reservedWords = strings.Fields(`true false null in as break const continue else for function if import let loop
	package namespace return var void while`)

var identifier = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

const mostName = 63

// collectNames checks the names of variables, children, watches, elements of
// forEach and what is ensured.
func (t *symbolTable) collectNames(text *policyText, spec v1alpha1.ReconcilePolicySpec) {
	first := map[string]*yaml.Node{}
	for i := range spec.Variables {
		t.variables = t.appendName(text, t.variables, first, text.specField("", "variables", i, "name"))
	}
	for i, child := range spec.Children {
		t.children = t.appendName(text, t.children, first, text.specField("", "children", i, "id"))
		if child.ForEach != nil {
			t.lists = append(t.lists, child.ID)
		}
	}
	for i, w := range spec.Watches {
		t.watches = t.appendName(text, t.watches, first, text.specField("", "watches", i, "id"))
		t.lists = append(t.lists, w.ID)
	}
	for i := range spec.Ensure {
		t.appendName(text, nil, first, text.specField("", "ensure", i, "id"))
	}
	for i := range spec.Children { // two may use the same: it is theirs alone
		t.elements = t.appendName(text, t.elements, maps.Clone(first), text.specField("", "children", i, "forEach", "as"))
	}
}

func (t *symbolTable) appendName(text *policyText, list []string, first map[string]*yaml.Node, f field) []string {
	if !f.isText() {
		return list
	}
	name := f.node.Value
	if problem := t.nameProblem(name); problem != "" {
		text.At(f.node, "%q cannot be a name: %s", syntax.ShortenText(name), problem)
		return list
	}
	if before := first[name]; before != nil {
		text.At(f.node, "%q is the name of something else already, at line %d: each name stands for one thing", name, text.LineOf(before))
		return list
	}
	first[name] = f.node
	return append(list, name)
}

func (t *symbolTable) nameProblem(name string) string {
	switch {
	case len(name) > mostName:
		return fmt.Sprintf("it is longer than %d characters", mostName)
	case !identifier.MatchString(name):
		return "expressions refer to it, so it must be letters, digits and _, and not begin with a digit"
	case slices.Contains(boundNames, name):
		return "Ambit binds it itself"
	case slices.Contains(t.namespaces, name):
		return "functions of this program begin with it, as in " + name + ".f()"
	case slices.Contains(reservedWords, name):
		return "it is a reserved word of CEL"
	case strings.HasPrefix(name, "__"):
		return "names that begin with __ are for CEL's macros"
	default:
		return ""
	}
}

// allNames returns what status, conditions and the like may refer to.
func (t *symbolTable) allNames() []string {
	return slices.Concat([]string{"owner", "policy", "access", readyName}, t.variables, t.children, t.watches)
}

// kindOf says what a name is in the policy, "" if it is nothing.
func (t *symbolTable) kindOf(name string) string {
	switch {
	case slices.Contains(t.variables, name):
		return "variable"
	case slices.Contains(t.children, name):
		return "child"
	case slices.Contains(t.watches, name):
		return "watch"
	case slices.Contains(t.elements, name):
		return "element"
	case slices.Contains(boundNames, name):
		return "name"
	default:
		return ""
	}
}

// watchesBehind returns the watches that names stand for: themselves, or as what
// variables so far read. Sorted; nil for none.
func (t *symbolTable) watchesBehind(names ...string) []string {
	var out []string
	for _, name := range names {
		if slices.Contains(t.watches, name) {
			out = append(out, name)
		}
		out = append(out, t.watchesOf[name]...)
	}
	return sortedSet(out)
}

// isOfObjects says whether a name stands for objects that watches select.
func (t *symbolTable) isOfObjects(name string) bool {
	return slices.Contains(t.watches, name) || slices.ContainsFunc(t.aliases, func(a alias) bool { return a.name == name })
}

// addAlias notes that a variable's value is one object of something, or a list of them.
func (t *symbolTable) addAlias(name, of string, list bool) {
	t.aliases = append(t.aliases, alias{name, of})
	known := t.types[of]
	if known != nil {
		t.types[name] = known
	}
	if !list {
		return
	}
	t.lists = append(t.lists, name)
	if known != nil {
		t.listTypes[name] = t.listTypes[of]
	}
}

// noteWatches notes which watches a variable reads.
func (t *symbolTable) noteWatches(variable string, watches []string) {
	t.watchesOf[variable] = append(t.watchesOf[variable], watches...)
}

// scope is what an expression sees.
type scope struct {
	// vars are the names that it may refer to.
	vars []string
	// object is what the variable `object` stands for: "owner", or the id of a watch or of a child,
	// of whose objects it is one.
	object string
	// one is the child whose id stands for one object although it has a forEach.
	one string
	// element is the variable of a forEach, and of the schema of its elements, nil if
	// that is not known.
	element string
	of      *cel.Schema
	// timed: the time may be asked.
	timed bool
}

// scopeOfAll returns the scope of what is evaluated after all is observed: status,
// conditions and the like.
func (c *expressionCompiler) scopeOfAll() scope {
	return scope{vars: c.symbols.allNames(), timed: true}
}

// scopeOfSelection returns the scope of what says which objects are watched: what is read
// of watches is not known there, and nor is the time.
func (c *expressionCompiler) scopeOfSelection() scope {
	out := scope{vars: []string{"owner", "policy"}}
	for _, name := range c.symbols.variables {
		if len(c.symbols.watchesBehind(name)) == 0 && !c.symbols.timed[name] {
			out.vars = append(out.vars, name)
		}
	}
	return out
}

// scopeBefore returns the scope of what decides on the objects of a child: all but these
// objects. If a child that it reads is not wanted, these are not either, and are deleted: what only protects them has scopeOfKept.
func (c *expressionCompiler) scopeBefore(child string) scope {
	return scope{vars: slices.DeleteFunc(c.symbols.allNames(), func(s string) bool { return s == child }), timed: true}
}

// scopeOfKept returns the scope of what says whether an object of a child stays whose element is gone: all of
// the policy is decided by then. An object must not go because of what was denied.
func (c *expressionCompiler) scopeOfKept(child string) scope {
	names := slices.DeleteFunc(c.symbols.allNames(), func(s string) bool { return s == "access" })
	return scope{vars: append([]string{"object"}, names...), object: child, timed: true}
}

// ofEach returns s for the objects of a child with forEach, or s itself.
func (s scope) ofEach(child v1alpha1.Child, of *cel.Schema) scope {
	if as := elementOf(child); as != "" {
		s.vars = append(slices.Clip(s.vars), as)
		s.element, s.of = as, of
	}
	return s
}

// elementOf returns the variable of a child's forEach, "" if there is none. One that
// is refused counts: its uses are no further mistakes.
func elementOf(spec v1alpha1.Child) string {
	if spec.ForEach == nil || !identifier.MatchString(spec.ForEach.As) {
		return ""
	}
	return spec.ForEach.As
}
