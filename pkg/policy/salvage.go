package policy

import (
	"fmt"
	"slices"

	"go.yaml.in/yaml/v3"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// Salvage makes of a document that Compile refuses a program that can clean up: it
// has the name, the namespace, the account, the scope, informers, suspend, retire
// and the kind of the owner, and Broken says why it does nothing else. If the policy has
// `protect`, so has the program, and holds back every deletion: what cannot be
// evaluated does.
//
// The error is Errors: those of these parts, without which nobody can know whose
// owners they are.
func Salvage(d *Document) (*Program, error) {
	_, broken := Compile(d)
	return SalvageFrom(d, broken)
}

// SalvageFrom is Salvage where it is known already why d is refused. broken may be nil.
func SalvageFrom(d *Document, broken error) (*Program, error) {
	legible := &Document{src: d.src, root: only(d.root, legibleParts())}
	p, err := Compile(legible)
	if err != nil {
		return nil, err
	}
	p.CleanupOnly = broken
	if broken == nil {
		p.CleanupOnly = fmt.Errorf("policy %q is only there to clean up", p.Name)
	}
	p.Owner.LabelSelector, p.Owner.FieldSelector = "", ""
	if lookup(d.root, "spec", "status") != nil || lookup(d.root, "spec", "conditions") != nil {
		p.Owner.SkipStatus = false
		p.Owner.Fields.Add("status")
	}
	if lookup(d.root, "spec", "protect") != nil {
		p.Protect, err = alwaysProtect()
	}
	return p, err
}

// part names a field that is legible by itself, and of a mapping what is in it; nil:
// all.
type part map[string]part

func legibleParts() part {
	return part{
		"apiVersion": nil, "kind": nil,
		"metadata": {"name": nil, "namespace": nil},
		"spec": {
			"serviceAccountName": nil, "scope": nil, "informers": nil, "suspend": nil, "retire": nil,
			"owner": {"apiVersion": nil, "kind": nil},
		},
	}
}

// only returns a copy of n with nothing but some fields, those that stand twice
// included.
func only(n *yaml.Node, of part) *yaml.Node {
	if of == nil || n.Kind != yaml.MappingNode {
		return n
	}
	out := *n
	out.Content = nil
	for i := 0; i+1 < len(n.Content); i += 2 {
		below, ok := of[n.Content[i].Value]
		if ok {
			out.Content = append(out.Content, n.Content[i], only(n.Content[i+1], below))
		}
	}
	return &out
}

func alwaysProtect() (*Protect, error) {
	env, err := cel.NewEnv()
	if err != nil {
		return nil, err
	}
	while, first := env.Compile("true")
	message, second := env.Compile("'the policy has protect, but does not compile'")
	if issues := slices.Concat(first, second); len(issues) > 0 {
		return nil, fmt.Errorf("compiling what protects owners: %s", issues[0].Message)
	}
	return &Protect{While: while, Message: message}, nil
}
