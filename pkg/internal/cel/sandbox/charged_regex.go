package sandbox

import (
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// decorateRegex compiles a literal pattern once, for all evaluations. The error is for
// a pattern that is no regular expression, or too large.
func (d chargeDecorator) decorateRegex(n interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	charged := d.chargedCallOf(n, regexRule)
	pattern, ok := n.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return charged, nil
	}
	text, ok := pattern.Value().(types.String)
	if !ok {
		return charged, nil
	}
	weight := regexWeight(string(text))
	if weight > maxRegexWeight {
		return nil, meter.LimitError("the regular expression is too large")
	}
	charged.rule = literalRegexRule(weight)
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

// maxRegexWeight bounds the instructions that a regular expression is made into.
const maxRegexWeight = 10_000

// regexWeight estimates the number of instructions. It is small for what is no regular
// expression, which compiling finds out.
func regexWeight(pattern string) int {
	if len(pattern) > maxRegexWeight {
		return maxRegexWeight + 1
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1
	}
	return syntaxWeight(parsed)
}

// syntaxWeight counts a repetition as often as it is written out.
func syntaxWeight(re *syntax.Regexp) int {
	weight := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		weight += syntaxWeight(sub)
	}
	if re.Op == syntax.OpRepeat {
		weight *= max(1, re.Min, re.Max)
	}
	return min(weight, maxRegexWeight+1)
}

// regexRule is for patterns that are computed: they are compiled first.
func regexRule(m *meter.Meter, args []ref.Val) {
	texts, ok := textArguments(args, 2)
	if !ok {
		return
	}
	m.ChargeSteps(len(texts[1]))
	weight := regexWeight(texts[1])
	if weight > maxRegexWeight {
		m.StopForMemory()
	}
	m.ChargeSteps(16 * weight)
	m.EnsureMemory(512 * weight)
	literalRegexRule(weight)(m, args)
}

// literalRegexRule is for a compiled pattern. The call may keep all places where it
// matches.
func literalRegexRule(weight int) chargeRule {
	return func(m *meter.Meter, args []ref.Val) {
		text, ok := args[0].(types.String)
		if !ok {
			return
		}
		m.ChargeSteps((1 + len(text)) * (8 + weight) / 8)
		if len(args) < 3 {
			m.EnsureMemory(32 * len(text))
		}
	}
}
