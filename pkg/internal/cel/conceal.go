package cel

import (
	"regexp"
	"strings"
)

// concealed stands for a value in the text of an error.
const concealed = "(a value)"

// missingKey begins the text of an error about a key, which is the rest of it.
const missingKey = "no such key: "

// conceal takes out of an error's text what it quotes: that may come from a Secret, or be
// written in the policy and as secret. A key that the source names stays.
func (x *Expr) conceal(text string) string {
	if key, ok := strings.CutPrefix(text, missingKey); ok {
		if !strings.Contains(x.source, key) {
			return missingKey + concealed
		}
		return text
	}
	if !strings.ContainsAny(text, "\"`") {
		return text
	}
	return quotedValue().ReplaceAllLiteralString(text, concealed)
}

// quotedValue is a text in double or back quotes.
func quotedValue() *regexp.Regexp { return regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`") }
