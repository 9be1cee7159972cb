package spelling

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

func TestDistance(t *testing.T) {
	cases := map[string]struct {
		reason string
		a, b   string
		want   int
	}{
		"Same":       {reason: "nothing to do", a: "spec", b: "spec"},
		"Case":       {reason: "upper case counts as lower case", a: "nodeName", b: "nodename"},
		"Empty":      {reason: "all letters are put in", b: "spec", want: 4},
		"PutIn":      {reason: "one letter is missing", a: "replica", b: "replicas", want: 1},
		"LeftOut":    {reason: "one letter is too much", a: "speec", b: "spec", want: 1},
		"Changed":    {reason: "one letter is another", a: "sbec", b: "spec", want: 1},
		"Swapped":    {reason: "two neighbours changed places", a: "sepc", b: "spec", want: 1},
		"Letters":    {reason: "letters count, not bytes", a: "größe", b: "grosse", want: 3},
		"NotAligned": {reason: "what was swapped is not changed again", a: "ca", b: "abc", want: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := EditDistance(tc.a, tc.b); got != tc.want {
				t.Errorf("%s: %q to %q is %d, want %d", tc.reason, tc.a, tc.b, got, tc.want)
			}
		})
	}
}

// TestDistanceOfEdits: each edit adds one at most, and the way back is as long.
func TestDistanceOfEdits(t *testing.T) {
	word := rapid.StringMatching(`[a-c]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := EditDistance(a, b)
		if back := EditDistance(b, a); back != d {
			t.Fatalf("%q to %q is %d, and back %d", a, b, d, back)
		}
		if (d == 0) != (a == b) || d > max(len(a), len(b)) {
			t.Fatalf("%q to %q is %d", a, b, d)
		}
		at := rapid.IntRange(0, len(b)).Draw(t, "at")
		if longer := EditDistance(a, b[:at]+"d"+b[at:]); longer > d+1 || longer < d {
			t.Fatalf("%q to %q is %d, with one more letter %d", a, b, d, longer)
		}
	})
}

func TestNearest(t *testing.T) {
	known := []string{"replicas", "paused", "pauses", "template", "selector", "Replicas"}
	upTo := func(n int) func(string) int { return func(string) int { return n } }
	cases := map[string]struct {
		reason  string
		name    string
		allowed func(string) int
		want    []string
	}{
		"None":       {reason: "nothing is near", name: "xyz", allowed: upTo(2)},
		"Order":      {reason: "equally near ones stay in order", name: "replica", allowed: upTo(1), want: []string{"replicas", "Replicas"}},
		"First":      {reason: "the nearest is first", name: "pauses", allowed: upTo(1), want: []string{"pauses", "paused"}},
		"Candidates": {reason: "what is allowed depends on the candidate", name: "pause", allowed: func(candidate string) int { return 1 - strings.Count(candidate, "d") }, want: []string{"pauses"}},
		"Negative":   {reason: "nothing is allowed", name: "paused", allowed: upTo(-1)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := NearestNames(tc.name, known, tc.allowed)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDidYouMean(t *testing.T) {
	for want, names := range map[string][]string{
		`did you mean "a"?`:             {"a"},
		`did you mean "a" or "b"?`:      {"a", "b"},
		`did you mean "a", "b" or "c"?`: {"a", "b", "c"},
	} {
		if got := DidYouMean(names...); got != want {
			t.Errorf("%v gives %s, want %s", names, got, want)
		}
	}
}

func TestSuggest(t *testing.T) {
	known := []string{"children", "watches", "owner", "apply", "id"}
	for _, c := range []struct{ reason, name, want string }{
		{"a letter is missing", "ownr", ` (did you mean "owner"?)`},
		{"two letters are swapped", "wathces", ` (did you mean "watches"?)`},
		{"the case is wrong", "Apply", ` (did you mean "apply"?)`},
		{"the same beginning", "childs", ` (did you mean "children"?)`},
		{"nothing is near", "template", ""},
		{"one letter is near to everything", "x", ""},
		{"text that goes on and on", strings.Repeat("a", 1000), ""},
	} {
		if got := Suggest(c.name, known); got != c.want {
			t.Errorf("%s: Suggest(%q) = %q, want %q", c.reason, c.name, got, c.want)
		}
	}
}
