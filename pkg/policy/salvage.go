package policy

import (
	"fmt"
	"slices"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// Salvage makes of a document that Compile refuses a program that can clean up: it
// has the name, the namespace, the account, the scope, informers, suspend, retire
// and the kind of the owner, and CleanupOnly says why it does nothing else. If the policy has
// `protect`, so has the program, and holds back every deletion: what cannot be
// evaluated does.
//
// The error is syntax.Errors: those of these parts, without which nobody can know whose
// owners they are.
func Salvage(d *syntax.Document) (*Program, error) {
	_, broken := Compile(d)
	return SalvageFrom(d, broken)
}

// SalvageFrom is Salvage where it is known already why d is refused. broken may be nil.
func SalvageFrom(d *syntax.Document, broken error) (*Program, error) {
	p, err := Compile(d.KeepOnly(legibleParts()))
	if err != nil {
		return nil, err
	}
	p.CleanupOnly = broken
	if broken == nil {
		p.CleanupOnly = fmt.Errorf("policy %q is only there to clean up", p.Name)
	}
	p.Owner.LabelSelector, p.Owner.FieldSelector = "", ""
	if syntax.LookupNode(d.Root(), "spec", "status") != nil || syntax.LookupNode(d.Root(), "spec", "conditions") != nil {
		p.Owner.SkipStatus = false
		p.Owner.Fields.Add("status")
	}
	if syntax.LookupNode(d.Root(), "spec", "protect") != nil {
		p.Protect, err = alwaysProtect()
	}
	return p, err
}

// legibleParts are those that a program to clean up is made of.
func legibleParts() syntax.Parts {
	return syntax.Parts{
		"apiVersion": nil, "kind": nil,
		"metadata": {"name": nil, "namespace": nil},
		"spec": {
			"serviceAccountName": nil, "scope": nil, "informers": nil, "suspend": nil, "retire": nil,
			"owner": {"apiVersion": nil, "kind": nil},
		},
	}
}

func alwaysProtect() (*Protect, error) {
	env, err := cel.NewEnv()
	if err != nil {
		return nil, err
	}
	while, first := env.CompileExpr("true")
	message, second := env.CompileExpr("'the policy has protect, but does not compile'")
	if issues := slices.Concat(first, second); len(issues) > 0 {
		return nil, fmt.Errorf("compiling what protects owners: %s", issues[0].Message)
	}
	return &Protect{While: while, Message: message}, nil
}
