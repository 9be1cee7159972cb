package sandbox

import (
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/charge"
)

// decorateRegex compiles a literal pattern once, for all evaluations. The error is for
// a pattern that is no regular expression, or too large.
func (d chargeDecorator) decorateRegex(n interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	charged := d.chargedCallOf(n, charge.RuleOf(n.Function()))
	pattern, ok := n.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return charged, nil
	}
	text, ok := pattern.Value().(types.String)
	if !ok {
		return charged, nil
	}
	rule, err := charge.LiteralRegexRule(string(text))
	if err != nil {
		return nil, err
	}
	charged.rule = rule
	optimization := map[string]*interpreter.RegexOptimization{
		"matches": interpreter.MatchesRegexOptimization, "find": library.FindRegexOptimization, "findAll": library.FindAllRegexOptimization,
	}[n.Function()]
	compiled, err := optimization.Factory(heldCall{n}, string(text))
	if err != nil {
		return nil, err
	}
	charged.inner = compiled
	return charged, nil
}

// heldCall is a call whose arguments are those that the evaluation holds: they have been
// evaluated, and charged.
type heldCall struct{ interpreter.InterpretableCall }

// Args implements interpreter.InterpretableCall.
func (n heldCall) Args() []interpreter.InterpretableV2 {
	args := make([]interpreter.InterpretableV2, len(n.InterpretableCall.Args()))
	for i, arg := range n.InterpretableCall.Args() {
		args[i] = heldArgument{arg, i}
	}
	return args
}

// heldArgument is an argument that the evaluation holds.
type heldArgument struct {
	interpreter.InterpretableV2
	at int
}

// Exec implements interpreter.InterpretableV2.
func (n heldArgument) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	return evaluationOf(frame).heldArguments[n.at]
}
