package quantile_test

import (
	"math"
	"testing"

	"github.com/ambit-dev/ambit/test/bench/quantile"
)

func TestOf(t *testing.T) {
	cases := map[string]struct {
		reason string
		values []float64
		q      float64
		want   float64
	}{
		"Median": {"The order of the values is irrelevant.", []float64{9, 1, 5}, 0.5, 5},
		"Even":   {"Of two values the smaller is one that was measured.", []float64{2, 1}, 0.5, 1},
		"P99":    {"Of few values p99 is the largest.", []float64{1, 2, 3}, 0.99, 3},
		"None":   {"Nothing measured is not 0.", nil, 0.5, math.NaN()},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got := quantile.Of(tc.values, tc.q)
			if got != tc.want && !(math.IsNaN(got) && math.IsNaN(tc.want)) {
				t.Errorf("%s Of() = %v, want %v", tc.reason, got, tc.want)
			}
		})
	}
}
