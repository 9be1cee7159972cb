package problems

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// few is up to how many problems are looked through one by one; more are indexed.
const few = 8

// Set is all that keeps an owner from being ready, each once. Its zero value is empty. It
// belongs to one goroutine.
type Set struct {
	list  []Problem
	index map[[2]string]int // of list, by reason and message, where there are many
}

// Add adds a problem; one without a reason is v1alpha1.ReasonUnavailable. One of the same reason
// and message as another is not added again.
func (s *Set) Add(p Problem) {
	if p.Reason == "" {
		p.Reason = v1alpha1.ReasonUnavailable
	}
	if i := s.indexOf(p); i >= 0 {
		s.list[i].Terminal = s.list[i].Terminal || p.Terminal
		return
	}
	s.list = append(s.list, p)
	switch {
	case s.index != nil:
		s.index[[2]string{p.Reason, p.Message}] = len(s.list) - 1
	case len(s.list) > few:
		s.index = map[[2]string]int{}
		for i, p := range s.list {
			s.index[[2]string{p.Reason, p.Message}] = i
		}
	}
}

// indexOf returns where a problem of the same reason and message is in the list; -1 if nowhere.
func (s *Set) indexOf(p Problem) int {
	if s.index == nil {
		return slices.IndexFunc(s.list, func(q Problem) bool { return q.Reason == p.Reason && q.Message == p.Message })
	}
	if i, ok := s.index[[2]string{p.Reason, p.Message}]; ok {
		return i
	}
	return -1
}

// IsEmpty reports whether nothing stands in the way.
func (s *Set) IsEmpty() bool { return len(s.list) == 0 }

// Sorted returns the problems, the most important first; the result is the caller's.
func (s *Set) Sorted() []Problem {
	list := slices.Clone(s.list)
	slices.SortFunc(list, func(p, q Problem) int {
		return cmp.Or(cmp.Compare(p.orderOfImportance(), q.orderOfImportance()), cmp.Compare(p.Message, q.Message), cmp.Compare(p.Reason, q.Reason))
	})
	return list
}

// IsTerminal reports whether somebody has to act.
func (s *Set) IsTerminal() bool {
	return slices.ContainsFunc(s.list, func(p Problem) bool { return p.Terminal })
}

// How many blockers one message lists. All that is denied is listed: whoever
// grants it should not have to do so twice.
const (
	maxMessages = 3
	maxDenied   = 100
)

// SummarizeBlockers returns the reason of the most important blocker, and the messages of
// all, or of all terminal ones if there is one: nobody has to act on the others
// before. The set is not empty.
func (s *Set) SummarizeBlockers() (reason, message string) {
	list := s.Sorted()
	reason = list[0].Reason
	if s.IsTerminal() {
		list = slices.DeleteFunc(list, func(p Problem) bool { return !p.Terminal })
		reason = list[0].Reason
	}
	return reason, joinMessages(list, maxMessages)
}

// SummarizeDenied returns the reason and the messages of what is denied; "" if nothing is.
func (s *Set) SummarizeDenied() (reason, message string) {
	denied := slices.DeleteFunc(slices.Clone(s.list), func(p Problem) bool { return !p.IsDenied() })
	if len(denied) == 0 {
		return "", ""
	}
	slices.SortFunc(denied, func(p, q Problem) int { return cmp.Compare(p.Message, q.Message) })
	reason = denied[0].Reason
	if slices.ContainsFunc(denied, func(p Problem) bool { return p.Reason == v1alpha1.ReasonForbidden }) {
		reason = v1alpha1.ReasonForbidden
	}
	return reason, joinMessages(denied, maxDenied)
}

// joinMessages joins the messages in the order they are in, each once and at most so many.
func joinMessages(list []Problem, most int) string {
	var texts []string
	seen := make(map[string]bool, len(list))
	for _, p := range list {
		if !seen[p.Message] {
			seen[p.Message] = true
			texts = append(texts, p.Message)
		}
	}
	if more := len(texts) - most; more > 0 {
		texts = append(texts[:most:most], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// ShortenText cuts a text to at most limit runes, the mark for what is left out
// included.
func ShortenText(s string, limit int) string {
	if utf8.RuneCountInString(s) <= limit {
		return s
	}
	return string([]rune(s)[:limit-3]) + "..."
}
