package policy

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// Selector is a label selector whose values may depend on the owner. Its zero
// value selects everything. It is immutable and safe for concurrent use.
type Selector struct {
	terms []term // sorted by key and operator
}

// term is one requirement. values are templates that render to strings; at
// least one of them has variables iff specific.
type term struct {
	key      string
	operator selection.Operator
	values   []*cel.Template
	literal  labels.Requirement // the requirement itself unless specific
	specific bool
}

// OwnerSpecific says whether some value depends on more than the policy's text.
func (s Selector) OwnerSpecific() bool {
	for _, t := range s.terms {
		if t.specific {
			return true
		}
	}
	return false
}

// valueTemplates are those of all values.
func (s Selector) valueTemplates() []*cel.Template {
	var list []*cel.Template
	for _, t := range s.terms {
		list = append(list, t.values...)
	}
	return list
}

// ForOwner returns the exact selector for the owner that a binds. An error says that
// a value could not be computed or is no label value.
func (s Selector) ForOwner(ctx context.Context, a cel.Activation) (labels.Selector, error) {
	requirements := make([]labels.Requirement, len(s.terms))
	for i, t := range s.terms {
		r, err := t.labelRequirement(ctx, a)
		if err != nil {
			return nil, err
		}
		requirements[i] = r
	}
	return labels.NewSelector().Add(requirements...), nil
}

// RelaxedText returns a selector, as text, that selects for every owner at least
// what the exact one does: a term that depends on the owner is reduced to `key
// exists`, or left out where even that would select too little. It is for a
// stream that owners share.
func (s Selector) RelaxedText() string {
	out := labels.NewSelector()
	for _, t := range s.terms {
		switch {
		case !t.specific:
			out = out.Add(t.literal)
		case t.isPositive():
			r, _ := labels.NewRequirement(t.key, selection.Exists, nil) // the key was checked by Compile
			out = out.Add(*r)
		}
	}
	return out.String()
}

// IndexLabel returns the first term of the selector that depends on the owner and is
// an equality: the label to route and list by. Both are "" if there is none.
func (s Selector) IndexLabel(ctx context.Context, a cel.Activation) (key, value string, err error) {
	for _, t := range s.terms {
		if !t.specific || !t.isPositive() || len(t.values) != 1 {
			continue
		}
		r, err := t.labelRequirement(ctx, a)
		if err != nil {
			return "", "", err
		}
		return t.key, r.ValuesUnsorted()[0], nil
	}
	return "", "", nil
}

// String is the selector as the policy says it, with `${...}` for values that
// depend on the owner. For messages and tests.
func (s Selector) String() string {
	parts := make([]string, 0, len(s.terms))
	for _, t := range s.terms {
		if t.specific {
			parts = append(parts, fmt.Sprintf("%s %s (${...})", t.key, t.operator))
			continue
		}
		parts = append(parts, t.literal.String())
	}
	return strings.Join(parts, ",")
}

// isPositive says whether the term selects only objects that have the label.
func (t term) isPositive() bool { return t.operator == selection.In || t.operator == selection.Equals }

func (t term) labelRequirement(ctx context.Context, a cel.Activation) (labels.Requirement, error) {
	if !t.specific {
		return t.literal, nil
	}
	values := make([]string, len(t.values))
	for i, v := range t.values {
		out, err := v.Render(ctx, a)
		if err != nil {
			return labels.Requirement{}, fmt.Errorf("computing the selector's value for label %q: %w", t.key, err)
		}
		s, ok := out.(string)
		if !ok {
			return labels.Requirement{}, fmt.Errorf("computing the selector's value for label %q: got %T, want a string", t.key, out)
		}
		values[i] = s
	}
	r, err := labels.NewRequirement(t.key, t.operator, values)
	if err != nil {
		return labels.Requirement{}, fmt.Errorf("computing the selector's value for label %q: %w", t.key, err)
	}
	return *r, nil
}
