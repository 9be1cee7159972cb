package policy

import (
	"strconv"
	"strings"
)

func escapeNone(string) (int, string, bool) { return 0, "", false }

func escapeSingle(text string) (int, string, bool) {
	if strings.HasPrefix(text, "''") {
		return 2, "'", false
	}
	return 0, "", false
}

// simpleEscapes are those of one character in double-quoted scalars.
const simpleEscapes = "0\x00a\ab\bt\t\t\tn\nv\vf\fr\re\x1b  \"\"''\\\\"

func escapeDouble(text string) (int, string, bool) {
	if len(text) < 2 || text[0] != '\\' {
		return 0, "", false
	}
	if n := breakLen(text[1:]); n > 0 {
		return 1 + n, "", true
	}
	for i := 0; i < len(simpleEscapes); i += 2 {
		if simpleEscapes[i] == text[1] {
			return 2, simpleEscapes[i+1 : i+2], false
		}
	}
	switch text[1] {
	case 'N':
		return 2, "\u0085", false
	case '_':
		return 2, "\u00a0", false
	case 'L':
		return 2, "\u2028", false
	case 'P':
		return 2, "\u2029", false
	case 'x':
		return escapeHex(text, 2)
	case 'u':
		return escapeHex(text, 4)
	case 'U':
		return escapeHex(text, 8)
	default:
		return 0, "", false
	}
}

func escapeHex(text string, digits int) (int, string, bool) {
	if len(text) < 2+digits {
		return 0, "", false
	}
	code, err := strconv.ParseUint(text[2:2+digits], 16, 32)
	if err != nil {
		return 0, "", false
	}
	return 2 + digits, string(rune(code)), false
}
