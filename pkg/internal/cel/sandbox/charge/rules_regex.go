package charge

import (
	"regexp/syntax"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

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
	compiledRegexRule(weight)(m, args)
}

// LiteralRegexRule returns the rule of matches, find and findAll for a pattern that is
// compiled once, for all evaluations. The error, a meter.LimitError, is for a pattern that
// is too large. One that is no regular expression has a rule; compiling finds that out.
func LiteralRegexRule(pattern string) (Rule, error) {
	weight := regexWeight(pattern)
	if weight > maxRegexWeight {
		return nil, meter.LimitError("the regular expression is too large")
	}
	return compiledRegexRule(weight), nil
}

// compiledRegexRule is for a compiled pattern. The call may keep all places where it
// matches.
func compiledRegexRule(weight int) Rule {
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
