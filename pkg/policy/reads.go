package policy

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// fieldsOfAmbit are the fields of every object that Ambit itself reads.
func fieldsOfAmbit() *fields.Set {
	return fields.New("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid", "metadata.resourceVersion",
		"metadata.generation", "metadata.deletionTimestamp", "metadata.finalizers", "metadata.ownerReferences", "metadata.labels")
}

// collectFields sets which fields of each kind of object are read, now that everything
// is compiled.
func (c *policyCompiler) collectFields() {
	p := c.program
	p.Owner.Fields = fieldsOfAmbit().Union(c.reads["owner"])
	for _, annotation := range []string{v1alpha1.AnnotationChildren, v1alpha1.AnnotationGeneration} {
		p.Owner.Fields.Add("metadata", "annotations", annotation)
	}
	p.Owner.StatusRead = c.reads["owner"].SetBelow("status")
	p.Owner.SelectionRead = p.selectionReads()
	p.Owner.Versionless = readsVersion(c.reads["owner"])
	if !p.Owner.SkipStatus {
		p.Owner.Fields.Add("status")
	}
	for _, w := range p.Watches {
		w.Fields = fieldsOfAmbit().Union(c.reads[w.ID])
		w.Versions = readsVersion(c.reads[w.ID])
	}
	for _, child := range p.Children {
		child.Versionless = readsVersion(c.reads[child.ID])
		child.Fields = c.fieldsOf(child).Add("metadata", "annotations", v1alpha1.AnnotationClaim)
		if child.KeepsObjects() {
			child.Fields.Add("metadata", "annotations", v1alpha1.AnnotationChild).Add("metadata", "creationTimestamp")
		}
	}
	for _, child := range p.Ensured {
		child.Fields = c.fieldsOf(child).Add("metadata", "annotations", v1alpha1.AnnotationEnsuredBy)
	}
}

// identityFields are the fields of an object that stay as they are as long as it lives.
func identityFields() *fields.Set {
	return fields.New("apiVersion", "kind", "metadata.name", "metadata.namespace", "metadata.uid")
}

// selectionReads returns the fields of an owner that what the watches select is computed from, themselves
// or by variables; nil if these are fields of its identity alone.
func (p *Program) selectionReads() *fields.Set {
	var read *fields.Set
	noted := map[string]bool{}
	var note func(reads map[string]*fields.Set)
	note = func(reads map[string]*fields.Set) {
		read = read.Union(reads["owner"])
		for _, v := range p.Variables {
			if reads[v.Name] != nil && v.Expr != nil && !noted[v.Name] {
				noted[v.Name] = true
				note(v.Expr.FieldsRead())
			}
		}
	}
	for _, w := range p.Watches {
		for _, template := range slices.Concat([]*cel.Template{w.Name, w.Namespace, w.FieldTemplate}, w.Selector.valueTemplates()) {
			if template != nil {
				note(template.FieldsRead())
			}
		}
	}
	if identity := identityFields(); identity.Union(read).Equal(identity) {
		return nil
	}
	return read
}

func (c *policyCompiler) fieldsOf(child *Child) *fields.Set {
	set := fieldsOfAmbit().Union(c.reads[child.ID])
	if child.Template != nil {
		set = set.Union(child.Template.FieldsSet())
	}
	return set
}

// noteReads notes what an expression or template reads in its scope.
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
		return name, set.SetBelow(fields.Any)
	}
	return name, set
}
