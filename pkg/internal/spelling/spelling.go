// Package spelling finds the names that somebody may have meant who wrote another.
package spelling

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// NearestNames returns those known names whose EditDistance from name is at most what is allowed
// for them, the nearest first. Names that are equally near stay in the order given.
func NearestNames(name string, known []string, allowed func(candidate string) int) []string {
	distances := map[string]int{}
	var near []string
	for _, candidate := range known {
		if d := EditDistance(name, candidate); d <= allowed(candidate) {
			distances[candidate] = d
			near = append(near, candidate)
		}
	}
	slices.SortStableFunc(near, func(a, b string) int { return distances[a] - distances[b] })
	return near
}

// EditDistance is the number of letters that have to be put in, left out, changed or swapped
// with the next to make b of a (optimal string alignment). Upper case counts as lower
// case. It takes time and memory by the product of the lengths.
func EditDistance(a, b string) int {
	x, y := []rune(strings.ToLower(a)), []rune(strings.ToLower(b))
	var before []int
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		next := make([]int, len(y)+1)
		next[0] = i + 1
		for j := range y {
			change := row[j]
			if x[i] != y[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && x[i] == y[j-1] && x[i-1] == y[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(y)]
}

// DidYouMean is the question that offers names, as in `did you mean "a", "b" or "c"?`.
// There must be one at least.
func DidYouMean(names ...string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	last := len(quoted) - 1
	if last == 0 {
		return "did you mean " + quoted[0] + "?"
	}
	return "did you mean " + strings.Join(quoted[:last], ", ") + " or " + quoted[last] + "?"
}

// Suggest returns ` (did you mean "x"?)` for the known name nearest to name, or
// nothing if none is near. Of names equally near the first counts.
func Suggest(name string, known []string) string {
	if utf8.RuneCountInString(name) > 100 {
		return "" // no known name is near, and EditDistance takes quadratic time
	}
	allowed := min(max(len(name)/3, 1), len(name)-1)
	if near := NearestNames(name, known, func(string) int { return allowed }); len(near) > 0 {
		return " (" + DidYouMean(near[0]) + ")"
	}
	if best := sameStart(name, known); best != "" {
		return " (" + DidYouMean(best) + ")"
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
