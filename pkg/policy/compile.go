package policy

import (
	"cmp"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

// Compile checks d and makes the program of it. The error is Errors: every mistake
// at once, sorted by place; the program is nil then.
func Compile(d *Document) (*Program, error) { return CompileWith(d, nil) }

// CompileWith is Compile that also refuses expressions which read fields that no
// object of the kind has, and what is written to such fields of the owner's status. s
// may be nil: no kind is known. The program is the same as that of Compile.
func CompileWith(d *Document, s Schemas) (*Program, error) {
	found := &findings{src: d.src}
	lint(d.root, found)
	c := &compiler{
		findings: found,
		root:     d.root,
		policy:   decodePolicy(d, found),
		envs:     map[envKey]*cel.Env{},
		reads:    map[string]*fields.Set{},
		types:    types{schemas: s},
		program:  &Program{File: d.src.file, places: map[string]string{}},
	}
	c.compile()
	if err := found.err(); err != nil {
		return nil, err
	}
	return c.program, nil
}

// compiler makes one program. Each of its methods checks one part of the policy,
// adds it to the program as far as it is right, and goes on.
type compiler struct {
	*findings
	root    *yaml.Node
	policy  *v1alpha1.ReconcilePolicy
	names   names
	types   types
	envs    map[envKey]*cel.Env
	reads   map[string]*fields.Set // what the expressions so far read, by variable; of lists: of one object
	aliases []alias
	program *Program
	// exprBytes is how many bytes the expressions so far have.
	exprBytes int
}

// modes sets what is one word for the whole policy.
func (c *compiler) modes() {
	spec := c.policy.Spec
	c.program.Suspend, c.program.Retire = spec.Suspend, spec.Retire
	c.program.Informers = cmp.Or(spec.Informers, v1alpha1.InformersAuto)
	c.program.Deletion = cmp.Or(spec.Deletion, v1alpha1.DeletionBackground)
}

func (c *compiler) compile() {
	c.place("", c.root)
	c.metadata()
	c.serviceAccount()
	c.names = c.collectNames()
	c.collectTypes()
	c.modes()
	c.scope()
	c.owner()
	c.variables()
	c.watches()
	c.children()
	c.offspring()
	c.status()
	c.conditions()
	c.program.RequeueAfter = c.expr(c.field("requeueAfter", "requeueAfter"), c.everything(), wantDuration)
	c.protect()
	c.ensured()
	c.dependencies()
	c.whole()
	c.readAliases()
	c.refuseElementVersions()
	c.fields()
	c.hash()
}

// field is a part of the policy: its node, nil if it is not there, and its name
// for Place.
type field struct {
	node *yaml.Node
	what string
}

// field returns what stands at a path below spec.
func (c *compiler) field(what string, path ...any) field {
	spec := lookup(c.root, "spec")
	if spec == nil {
		return field{what: what}
	}
	return field{node: lookup(spec, path...), what: what}
}

// below returns a part of f.
func (f field) below(what string, path ...any) field {
	if f.node == nil {
		return field{what: what}
	}
	return field{node: lookup(f.node, path...), what: what}
}

// isText says whether f is there and a string; whatever else it may be has been
// refused by decodePolicy.
func (f field) isText() bool {
	return f.node != nil && f.node.Kind == yaml.ScalarNode && f.node.Tag == "!!str" && f.node.Value != ""
}

func (c *compiler) place(what string, n *yaml.Node) {
	e := c.src.errorAt(c.src.offset(n), "")
	if c.src.root != nil {
		c.program.places[what] = strings.TrimSuffix(e.File+" "+e.Path, " ")
		return
	}
	c.program.places[what] = fmt.Sprintf("%s:%d", e.File, e.Line)
}
