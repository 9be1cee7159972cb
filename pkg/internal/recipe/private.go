package recipe

import (
	"fmt"
	"io"
)

// Private is a value that nobody is to see. However it is printed, encoded or logged, it says only which
// recipe it is of, as in `<made: random 32>`. The bytes stand where no printer that goes through fields gets.
type Private struct {
	label  string
	reveal func() []byte
}

// NewPrivate hides a value, which it owns from then on, of a recipe with this text form.
func NewPrivate(recipe string, value []byte) Private {
	return Private{label: TextForm(recipe), reveal: func() []byte { return value }}
}

// TextForm is what stands in place of a value.
func TextForm(recipe string) string { return "<made: " + recipe + ">" }

// RevealValue returns the value itself, for the request that writes it.
func (p Private) RevealValue() []byte {
	if p.reveal == nil {
		return nil
	}
	return p.reveal()
}

// WipeValue overwrites the value, once it is written.
func (p Private) WipeValue() { clear(p.RevealValue()) }

// String is the text form.
func (p Private) String() string { return p.label }

// Format prints the text form, whatever the verb.
func (p Private) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, p.label) } // a Formatter has no error

// MarshalText encodes the text form, in JSON too.
func (p Private) MarshalText() ([]byte, error) { return []byte(p.label), nil }

// MarshalLog is what loggers take.
func (p Private) MarshalLog() any { return p.label }
