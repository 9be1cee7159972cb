package cel

import (
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"k8s.io/apiserver/pkg/cel/library"
)

// regex gives a call with a literal pattern its compiled pattern. The error is for
// a pattern that is none.
func (g guard) regex(n interpreter.InterpretableCall) (interpreter.InterpretableV2, error) {
	guarded := g.guarded(n, regexRule)
	pattern, ok := n.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return guarded, nil
	}
	text, ok := pattern.Value().(types.String)
	if !ok {
		return guarded, nil
	}
	weight := regexWeight(string(text))
	if weight > maxRegexWeight {
		return nil, stop("the regular expression is too large")
	}
	guarded.rule = literalRegexRule(weight)
	optimization := map[string]*interpreter.RegexOptimization{
		"matches": interpreter.MatchesRegexOptimization, "find": library.FindRegexOptimization, "findAll": library.FindAllRegexOptimization,
	}[n.Function()]
	compiled, err := optimization.Factory(holding{n}, string(text))
	if err != nil {
		return nil, err
	}
	guarded.inner = compiled
	return guarded, nil
}

// holding is a call whose arguments are those that the meter holds.
type holding struct{ interpreter.InterpretableCall }

// Args implements interpreter.InterpretableCall.
func (n holding) Args() []interpreter.InterpretableV2 {
	args := make([]interpreter.InterpretableV2, len(n.InterpretableCall.Args()))
	for i, arg := range n.InterpretableCall.Args() {
		args[i] = heldArg{arg, i}
	}
	return args
}

type heldArg struct {
	interpreter.InterpretableV2
	at int
}

// Exec implements interpreter.InterpretableV2.
func (n heldArg) Exec(frame *interpreter.ExecutionFrame) ref.Val { return meterOf(frame).held[n.at] }

// maxRegexWeight bounds the instructions that a regular expression is made into.
const maxRegexWeight = 10_000

// regexWeight estimates these. For what is no regular expression it is small:
// compiling says so.
func regexWeight(pattern string) int {
	if len(pattern) > maxRegexWeight {
		return maxRegexWeight + 1
	}
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1
	}
	return weightOf(parsed)
}

// weightOf counts repetitions as often as they are written out.
func weightOf(re *syntax.Regexp) int {
	weight := 1 + len(re.Rune)/8
	for _, sub := range re.Sub {
		weight += weightOf(sub)
	}
	if re.Op == syntax.OpRepeat {
		weight *= max(1, re.Min, re.Max)
	}
	return min(weight, maxRegexWeight+1)
}

// regexRule is for patterns that are only known now: they are compiled first.
func regexRule(m *meter, args []ref.Val) {
	texts, ok := textsOf(args, 2)
	if !ok {
		return
	}
	m.step(len(texts[1]))
	weight := regexWeight(texts[1])
	if weight > maxRegexWeight {
		panic(errMemory)
	}
	m.step(16 * weight)
	m.need(512 * weight)
	literalRegexRule(weight)(m, args)
}

// literalRegexRule is for a compiled pattern. All places where it matches may be
// kept.
func literalRegexRule(weight int) rule {
	return func(m *meter, args []ref.Val) {
		text, ok := args[0].(types.String)
		if !ok {
			return
		}
		m.step((1 + len(text)) * (8 + weight) / 8)
		if len(args) < 3 {
			m.need(32 * len(text))
		}
	}
}
