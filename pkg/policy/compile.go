// Package policy turns a ReconcilePolicy, as package syntax has read it, into a Program: checked,
// ordered and ready to evaluate. Together they find every mistake that an author can make,
// all of them at once, each at its line and column.
//
//	data -> syntax.Parse -> []*syntax.Document (YAML nodes with positions)
//	Document -> Compile -> *Program, or syntax.Errors
//
// Compile goes through the policy once: policyCompiler.compilePolicy lists the stages. They share an
// expressionCompiler, which compiles CEL in the scope that a part of the policy has, and notes what it
// reads; that has a symbolTable of the names in the policy, and the policyText with the
// places.
//
// A Program answers what others ask of a policy: its Requirements, whether it NeedsFinalizer,
// and by CheckConflicts whether it can run beside others.
//
// The package is pure: no I/O, no goroutine, no clock, no log. It knows nothing
// of a cluster: whether a kind exists is not asked. Which fields the objects of a kind
// have it knows as far as the Schemas say that are given to CompileWith, and which functions
// of Go expressions may call by its Functions.
package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Compile checks d and makes the program of it. The error is syntax.Errors: every mistake
// at once, sorted by place; the program is nil then.
func Compile(d *syntax.Document) (*Program, error) { return CompileWith(d, Options{}) }

// Options are what the compiler may know beside the document. The zero Options: nothing.
type Options struct {
	// Schemas have expressions refused which read fields that no object of the kind has, and what
	// is written to such fields of the owner's status. Nil: no kind is known. The program is the same with
	// them and without.
	Schemas Schemas
	// Functions are what expressions may call beside the functions of CEL and Kubernetes. Nil: nothing.
	Functions *Functions
}

// CompileWith is Compile with what the options say.
func CompileWith(d *syntax.Document, o Options) (*Program, error) {
	found := syntax.NewDiagnostics(d)
	syntax.Lint(d.Root(), found)
	text := &policyText{Diagnostics: found, root: d.Root(), places: map[string]string{}}
	c := &policyCompiler{
		expressionCompiler: newExpressionCompiler(text, o),
		document:           d,
		policy:             syntax.DecodePolicy(d, found),
		program:            &Program{File: d.File(), places: text.places},
	}
	c.recipes = &recipeCompiler{expressionCompiler: c.expressionCompiler, spec: c.policy.Spec, program: c.program}
	c.compilePolicy()
	if err := found.Err(); err != nil {
		return nil, err
	}
	return c.program, nil
}

// policyCompiler makes one program. Each of its methods checks one part of the policy,
// adds it to the program as far as it is right, and goes on.
type policyCompiler struct {
	*expressionCompiler
	document *syntax.Document
	policy   *v1alpha1.ReconcilePolicy
	program  *Program
	recipes  *recipeCompiler
}

// compilePolicy goes through the policy. The order counts: an expression sees the names that were
// collected, its reads are noted as it is compiled, and the last stages need all of them.
func (c *policyCompiler) compilePolicy() {
	c.notePlace("", c.root)
	c.checkMetadata()
	c.checkServiceAccount()
	c.symbols.collectNames(c.policyText, c.policy.Spec)
	c.symbols.collectTypes(c.policyText, c.policy.Spec)
	c.private = madePrivateKeys(c.policy.Spec.Children)
	c.readModes()

	c.compileScope()
	c.compileOwner()
	c.compileVariables()
	c.compileWatches()
	c.compileChildren()
	c.checkOffspring()
	c.compileStatus()
	c.compileConditions()
	c.program.RequeueAfter = c.compileExpr(c.specField("requeueAfter", "requeueAfter"), c.scopeOfAll(), wantDuration)
	c.compileProtect()
	c.program.Expire = c.compileExpr(c.specField("expire", "expire"), c.scopeOfAll(), wantBool)
	c.compileEnsured()

	c.recipes.finishMade()
	c.orderChildren()
	c.widenOwnerSelection()
	c.readAliases()
	c.refuseElementVersions()
	c.refuseElementPrivate()
	c.collectFields()
	c.recipes.addMadeFields()
	c.program.AsksTime = c.asksTime
	c.hashPolicy()
}

// readModes sets what is one word for the whole policy.
func (c *policyCompiler) readModes() {
	spec := c.policy.Spec
	c.program.Suspend, c.program.Retire = spec.Suspend, spec.Retire
	c.program.Informers = cmp.Or(spec.Informers, v1alpha1.InformersAuto)
	c.program.Deletion = cmp.Or(spec.Deletion, v1alpha1.DeletionBackground)
}

// hashPolicy covers the name and the spec as decoded, with templates as JSON.
func (c *policyCompiler) hashPolicy() {
	spec := c.policy.Spec.DeepCopy()
	for i := range spec.Children {
		spec.Children[i].Template = c.templateJSON("children", i, "template")
	}
	for i := range spec.Ensure {
		spec.Ensure[i].Template = c.templateJSON("ensure", i, "template")
	}
	spec.Status = c.templateJSON("status")
	text, err := json.Marshal([]any{c.policy.Name, c.policy.Namespace, spec})
	if err != nil {
		c.At(c.root, "hashing the policy: %v", err)
		return
	}
	sum := sha256.Sum256(text)
	c.program.Hash = hex.EncodeToString(sum[:])
}

// templateJSON returns a template as JSON; nil if there is none or it is not right.
func (c *policyCompiler) templateJSON(path ...any) *runtime.RawExtension {
	f := c.specField("", path...)
	if f.node == nil {
		return nil
	}
	scratch := syntax.NewDiagnostics(c.document) // its mistakes are known already
	text, err := json.Marshal(scratch.Value(f.node))
	if err != nil {
		return nil
	}
	return &runtime.RawExtension{Raw: text}
}
