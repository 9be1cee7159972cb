// Package quantile finds the values that stand for many: the median, p99.
package quantile

import (
	"math"
	"slices"
)

// Of returns the value that the share q of all values does not exceed; NaN
// if there is none. It does not change them.
func Of(values []float64, q float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}
