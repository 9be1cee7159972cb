package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// suggest returns ` (did you mean "x"?)` for the known name nearest to name, or
// nothing if none is near. Of names equally near the first counts.
func suggest(name string, known []string) string {
	if utf8.RuneCountInString(name) > 100 {
		return "" // no known name is near, and distance takes quadratic time
	}
	best, least := "", min(max(len(name)/3, 1)+1, len(name))
	for _, k := range known {
		if n := distance(strings.ToLower(name), strings.ToLower(k)); n < least {
			best, least = k, n
		}
	}
	if best == "" {
		best = sameStart(name, known)
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// sameStart returns the first known name that begins like name.
func sameStart(name string, known []string) string {
	const letters = 5
	for _, k := range known {
		if len(name) >= letters && strings.HasPrefix(strings.ToLower(k), strings.ToLower(name[:letters])) {
			return k
		}
	}
	return ""
}

// distance counts the insertions, deletions, replacements and swaps of
// neighbours that make b of a (optimal string alignment).
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	var before []int
	last := make([]int, len(y)+1)
	for j := range last {
		last[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			next[j+1] = min(last[j+1]+1, next[j]+1, last[j]+differ(x[i], y[j]))
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, last = last, next
	}
	return last[len(y)]
}

func differ(a, b rune) int {
	if a == b {
		return 0
	}
	return 1
}
