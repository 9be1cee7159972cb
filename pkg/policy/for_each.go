package policy

import (
	"maps"
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// compileForEach compiles that of a child. What it reads is noted by readElements.
func (c *expressionCompiler) compileForEach(f field, s scope, spec *v1alpha1.ForEach) *ForEach {
	if spec == nil || f.node == nil {
		return nil
	}
	c.notePlace(f.what, f.node)
	return &ForEach{As: spec.As, In: c.compileUnread(f.below(f.what+".in", "in"), s, wantList)}
}

// objectsIn returns the watches, and other children, whose objects are the elements of
// the list as they are, and what is read of each to make the list.
func (c *expressionCompiler) objectsIn(each *ForEach, s scope) map[string]*fields.Set {
	if each == nil || each.In == nil {
		return nil
	}
	var walked map[string]*fields.Set // what is read without a look at the elements
	out := map[string]*fields.Set{}
	for name, set := range each.In.FieldsRead() {
		if !slices.Contains(c.symbols.lists, name) || !set.SetBelow(fields.Any).IsAll() {
			continue
		}
		if walked == nil {
			walked = c.readsOf("("+each.In.Source()+"\n).map("+each.As+", 0)", s)
		}
		if own := walked[name].SetBelow(fields.Any); own != nil && !own.IsAll() {
			out[name] = own
		}
	}
	return out
}

// elementOfObjects returns the schema of elements that are objects, nil if it is not
// known.
func (c *expressionCompiler) elementOfObjects(objects map[string]*fields.Set) *cel.Schema {
	for name := range objects {
		if len(objects) == 1 {
			return c.symbols.types[name]
		}
	}
	return nil
}

// readElements notes what a forEach reads, after all that reads its elements was
// compiled: of objects that are elements only what is read of the element; else each
// element as a whole.
func (c *expressionCompiler) readElements(each *ForEach, objects map[string]*fields.Set, s scope) {
	if each == nil || each.In == nil {
		return
	}
	read := c.reads[each.As]
	delete(c.reads, each.As) // another child may use the name for something else
	rest := maps.Clone(each.In.FieldsRead())
	for name, own := range objects {
		delete(rest, name)
		c.reads[name] = c.reads[name].Union(own).Union(read)
	}
	c.noteReads(rest, s)
}
