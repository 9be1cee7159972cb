package cel

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/jsonvalue"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// EvalError is a failed evaluation.
type EvalError struct {
	// Source is the text of the expression.
	Source string
	// Message says what happened, for users.
	Message string
	// NoSuchKey says that it read a field or a list element that is not there, or the
	// value of an absent optional.
	NoSuchKey bool
	// Budget says that it was stopped at a limit of cost, time, memory or size.
	Budget bool
}

// Error implements error.
func (e *EvalError) Error() string { return e.Message }

// IsBudget reports whether err comes from an evaluation that was stopped at a limit of
// cost, time or size.
func IsBudget(err error) bool {
	var failed *EvalError
	return errors.As(err, &failed) && failed.Budget
}

// IsNoSuchKey reports whether err comes from reading a field that is not there.
func IsNoSuchKey(err error) bool {
	var failed *EvalError
	return errors.As(err, &failed) && failed.NoSuchKey
}

// evalError returns the error of an evaluation, without values that it quotes.
func (x *Expr) evalError(err error) *EvalError {
	text := explainTime(err.Error())
	var limit meter.LimitError
	return &EvalError{Source: x.source, Message: truncateMessage(x.redactQuotes(text)), NoSuchKey: isNoSuchKey(text), Budget: errors.As(err, &limit)}
}

// maxMessage bounds the text of an error, which may quote a value.
const maxMessage = 1 << 10

// truncateMessage cuts a text that is longer than maxMessage.
func truncateMessage(text string) string {
	if len(text) <= maxMessage {
		return text
	}
	return strings.ToValidUTF8(text[:maxMessage], "") + "..."
}

// isNoSuchKey reports whether an error of cel-go is about a key that is not there. It
// goes by the text, for cel-go has no types for its errors.
func isNoSuchKey(text string) bool {
	return strings.HasPrefix(text, "no such key") || strings.HasPrefix(text, "index out of bounds") ||
		text == "optional.none() dereference"
}

// wrongType is the error of a result that is of another type than is wanted.
func (x *Expr) wrongType(got any, want string) error {
	return &EvalError{Source: x.source, Message: fmt.Sprintf("gives %s, want %s", jsonvalue.TypeName(got), want)}
}

// redacted stands for a value in the text of an error.
const redacted = "(a value)"

// missingKey begins the text of an error about a key, which is the rest of it.
const missingKey = "no such key: "

// redactQuotes replaces what an error's text quotes: it may come from a Secret, or be a
// secret that is written in the policy. A key that the source names stays.
func (x *Expr) redactQuotes(text string) string {
	if key, ok := strings.CutPrefix(text, missingKey); ok {
		if !strings.Contains(x.source, key) {
			return missingKey + redacted
		}
		return text
	}
	if !strings.ContainsAny(text, "\"`") {
		return text
	}
	return quotedValue().ReplaceAllLiteralString(text, redacted)
}

// quotedValue is a text in double or back quotes.
func quotedValue() *regexp.Regexp { return regexp.MustCompile("\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`") }
