package problems

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestSummary: the most important problem gives the reason, and the messages are those of all
// that somebody has to act on.
func TestSummary(t *testing.T) {
	waits := Problem{Reason: v1alpha1.ReasonProgressing, Message: "it waits"}
	syncs := Problem{Reason: v1alpha1.ReasonSyncing, Message: "it syncs"}
	fails := Problem{Reason: v1alpha1.ReasonExpressionFailed, Message: "it fails", Terminal: true}
	denied := Problem{Reason: v1alpha1.ReasonForbidden, Message: "it is denied", Terminal: true}
	missing := Problem{Reason: v1alpha1.ReasonKindMissing, Message: "it is not served", Terminal: true}
	cases := map[string]struct {
		why             string
		list            []Problem
		reason, message string
		terminal        bool
	}{
		"One":      {"it speaks for itself", []Problem{waits}, v1alpha1.ReasonProgressing, "it waits", false},
		"Order":    {"what comes by itself is said last", []Problem{waits, syncs}, v1alpha1.ReasonSyncing, "it syncs; it waits", false},
		"Act":      {"nobody has to act on what waits", []Problem{waits, fails, syncs}, v1alpha1.ReasonExpressionFailed, "it fails", true},
		"Denied":   {"a mistake comes before a right, a right before a kind", []Problem{missing, denied, fails}, v1alpha1.ReasonExpressionFailed, "it fails; it is denied; it is not served", true},
		"Twice":    {"each is said once", []Problem{waits, waits}, v1alpha1.ReasonProgressing, "it waits", false},
		"Terminal": {"of two alike, one that is terminal counts", []Problem{{Reason: "A", Message: "a"}, {Reason: "A", Message: "a", Terminal: true}}, "A", "a", true},
		"Unnamed":  {"without a reason", []Problem{{Message: "a"}}, v1alpha1.ReasonUnavailable, "a", false},
		"Many":     {"most are counted", []Problem{{Message: "a"}, {Message: "b"}, {Message: "c"}, {Message: "d"}, {Message: "e"}}, v1alpha1.ReasonUnavailable, "a; b; c; and 2 more", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var s Set
			for _, p := range tc.list {
				s.Add(p)
			}
			reason, message := s.SummarizeBlockers()
			if reason != tc.reason || message != tc.message || s.IsTerminal() != tc.terminal || s.IsEmpty() {
				t.Errorf("%s: got %q, %q, terminal %t", tc.why, reason, message, s.IsTerminal())
			}
		})
	}
}

// TestIndex: many problems are found as few are.
func TestIndex(t *testing.T) {
	var s Set
	for i := range 4 * few {
		for range 2 {
			s.Add(Problem{Reason: "A", Message: fmt.Sprintf("%02d", i)})
		}
	}
	s.Add(Problem{Reason: "B", Message: "00"})
	if got := len(s.Sorted()); got != 4*few+1 {
		t.Errorf("there are %d", got)
	}
}

// TestDenied: all that is denied is listed, and Forbidden is the reason if it is one.
func TestDenied(t *testing.T) {
	var s Set
	if reason, _ := s.SummarizeDenied(); reason != "" {
		t.Errorf("an empty set is denied: %s", reason)
	}
	s.Add(Problem{Reason: v1alpha1.ReasonExpressionFailed, Message: "it fails", Terminal: true})
	s.Add(Problem{Reason: v1alpha1.ReasonServiceAccountMissing, Message: "a"})
	s.Add(Problem{Reason: v1alpha1.ReasonForbidden, Message: "b"})
	if reason, message := s.SummarizeDenied(); reason != v1alpha1.ReasonForbidden || message != "a; b" {
		t.Errorf("got %q, %q", reason, message)
	}
}

// TestDeniedAccesses: each access is there once, with what the first problem says of it.
func TestDeniedAccesses(t *testing.T) {
	get := v1alpha1.DeniedAccess{Verb: "get", Resource: "pods", Message: "first"}
	again := v1alpha1.DeniedAccess{Verb: "get", Resource: "pods", Message: "second"}
	apps := v1alpha1.DeniedAccess{Verb: "list", Group: "apps", Resource: "deployments"}
	got := DeniedAccesses([]Problem{{Denied: []v1alpha1.DeniedAccess{get}}, {Denied: []v1alpha1.DeniedAccess{again, apps}}})
	if diff := cmp.Diff([]v1alpha1.DeniedAccess{apps, get}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestShorten: a text is cut by runes, and says so.
func TestShorten(t *testing.T) {
	for text, want := range map[string]string{"": "", "abcd": "abcd", "abcde": "abcde", "abcdef": "ab...", strings.Repeat("ü", 6): "üü..."} {
		if got := ShortenText(text, 5); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
