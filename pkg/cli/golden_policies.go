package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// policyBook is what one settings names: policies without mistakes, and the kinds.
type policyBook struct {
	programs []*policy.Program
	kinds    definedKinds
	err      error
}

// policyShelf keeps the policies of cases, so that each is compiled once.
type policyShelf struct{ books map[string]policyBook }

func newPolicyShelf() *policyShelf { return &policyShelf{books: map[string]policyBook{}} }

// open returns what the settings name.
func (s *policyShelf) open(from settings) (policyBook, error) {
	key := strings.Join(append([]string{from.Policy}, from.CRDs...), "\n")
	book, known := s.books[key]
	if !known {
		book = readBook(from)
		s.books[key] = book
	}
	return book, book.err
}

func readBook(from settings) policyBook {
	sources, err := readPolicies([]string{from.Policy}, nil)
	if err != nil {
		return policyBook{err: err}
	}
	known, err := readDefinitions(from.CRDs, nil)
	if err != nil {
		return policyBook{err: err}
	}
	l := compile(sources, known.schemas)
	if len(l.findings) > 0 {
		return policyBook{err: errors.New(findingsText(l.findings))}
	}
	return policyBook{programs: l.programs, kinds: known.kinds}
}

// findingsText is the mistakes with their lines and carets, below a summary.
func findingsText(findings syntax.Errors) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in the policies\n", plural(len(findings), "mistake"))
	printFindings(&b, findings)
	return b.String()
}
