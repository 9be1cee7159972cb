package cel

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// nearest returns those names that one may have meant, the nearest first, three
// at most.
func nearest(name string, names []string) []string {
	distance := map[string]int{}
	var near []string
	for _, candidate := range names {
		d := editDistance(strings.ToLower(name), strings.ToLower(candidate))
		if d <= max(1, min(len(name), len(candidate))/3) {
			distance[candidate] = d
			near = append(near, candidate)
		}
	}
	slices.SortFunc(near, func(a, b string) int {
		return cmp.Or(cmp.Compare(distance[a], distance[b]), strings.Compare(a, b))
	})
	return near[:min(len(near), 3)]
}

// isSlip reports whether a name is so near to the first of others that it is hardly
// the name of something else.
func isSlip(name string, near []string) bool {
	if len(near) == 0 || len(name) < 4 {
		return false
	}
	return editDistance(strings.ToLower(name), strings.ToLower(near[0])) <= 1
}

// editDistance is how many letters have to be put in, left out, changed or
// swapped with the next, to make b of a.
func editDistance(a, b string) int {
	before, row := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			next[j+1] = min(change, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], before[j-1]+1)
			}
		}
		before, row = row, next
	}
	return row[len(b)]
}

// orList writes names as in `"a", "b" or "c"`.
func orList(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = fmt.Sprintf("%q", name)
	}
	last := len(quoted) - 1
	if last == 0 {
		return quoted[0]
	}
	return strings.Join(quoted[:last], ", ") + " or " + quoted[last]
}
