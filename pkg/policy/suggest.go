package policy

import (
	"strings"
	"unicode/utf8"

	"github.com/ambit-dev/ambit/pkg/internal/spelling"
)

// suggest returns ` (did you mean "x"?)` for the known name nearest to name, or
// nothing if none is near. Of names equally near the first counts.
func suggest(name string, known []string) string {
	if utf8.RuneCountInString(name) > 100 {
		return "" // no known name is near, and Distance takes quadratic time
	}
	allowed := min(max(len(name)/3, 1), len(name)-1)
	if near := spelling.Nearest(name, known, func(string) int { return allowed }); len(near) > 0 {
		return " (" + spelling.DidYouMean(near[0]) + ")"
	}
	if best := sameStart(name, known); best != "" {
		return " (" + spelling.DidYouMean(best) + ")"
	}
	return ""
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
