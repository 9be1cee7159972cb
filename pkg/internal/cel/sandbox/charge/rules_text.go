package charge

import (
	"errors"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	kubernetes "k8s.io/apiserver/pkg/cel"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// replaceRule: the size of the result is known once the places are counted.
func replaceRule(m *meter.Meter, args []ref.Val) {
	texts, ok := textArguments(args, 3)
	if !ok {
		return
	}
	m.ChargeSteps((len(texts[0]) + len(texts[1])) / 16)
	count := strings.Count(texts[0], texts[1])
	if len(args) > 3 {
		if n, ok := args[3].(types.Int); ok && n >= 0 && int64(n) < int64(count) {
			count = int(n)
		}
	}
	size := len(texts[0]) + count*max(0, len(texts[2])-len(texts[1]))
	m.ChargeSteps(size/64 + count)
	m.EnsureMemory(2 * size)
}

// splitRule: each place makes one more element.
func splitRule(m *meter.Meter, args []ref.Val) {
	texts, ok := textArguments(args, 2)
	if !ok {
		return
	}
	m.ChargeSteps((len(texts[0]) + len(texts[1])) / 16)
	count := strings.Count(texts[0], texts[1]) + 1
	m.ChargeSteps(count)
	m.EnsureMemory(64 * count)
}

// joinRule: all elements and a separator between them.
func joinRule(m *meter.Meter, args []ref.Val) {
	parts, bytes := scanValue(m, args[0], true)
	if len(args) > 1 {
		bytes += SizeOf(args[1]) * SizeOf(args[0])
	}
	m.ChargeSteps(bytes / 16)
	m.EnsureMemory(32*parts + 3*bytes)
}

// formatRule: in the text of a list or map, each level is made anew from those
// below; a precision makes as many digits as it says.
func formatRule(m *meter.Meter, args []ref.Val) {
	if len(args) < 2 {
		return
	}
	text, _ := args[0].(types.String)
	digits := formatPrecisions(string(text))
	parts, bytes := scanValue(m, args[1], true)
	m.ChargeSteps(2*parts + (len(text)+bytes+digits)/4)
	m.EnsureMemory(256*parts + 32*bytes + 4*len(text) + 8*digits)
}

// formatPrecisions adds up the numbers behind the dots of a format.
func formatPrecisions(format string) int {
	sum, number, inside := 0, 0, false
	for i := range len(format) {
		switch ch := format[i]; {
		case inside && ch >= '0' && ch <= '9':
			number = min(number*10+int(ch-'0'), meter.MemoryLimit)
		default:
			sum, number, inside = min(sum+number, meter.MemoryLimit), 0, ch == '.'
		}
	}
	return sum + number
}

// maxExponent is the largest exponent of a quantity: its digits are written out
// when it is added to another.
const maxExponent = 64

// quantityRule: reading digits takes the square of their number.
func quantityRule(m *meter.Meter, args []ref.Val) {
	texts, ok := textArguments(args, 1)
	if !ok {
		return
	}
	m.ChargeSteps(8 + len(texts[0]) + len(texts[0])*len(texts[0])/64)
	at := strings.LastIndexAny(texts[0], "eE")
	if at < 0 || at == len(texts[0])-1 {
		return
	}
	exponent, err := strconv.Atoi(texts[0][at+1:])
	if exponent > maxExponent || exponent < -maxExponent || errors.Is(err, strconv.ErrRange) {
		m.StopForCost()
	}
}

// queryRule: each letter of a URL's query may be a value of its own.
func queryRule(m *meter.Meter, args []ref.Val) {
	if u, ok := args[0].(kubernetes.URL); ok {
		m.ChargeSteps(len(u.RawQuery))
		m.EnsureMemory(64 * len(u.RawQuery))
	}
}
