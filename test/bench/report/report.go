// Package report has what the programs that measure print alike. Its functions are safe for concurrent use.
package report

import (
	"fmt"
	"math"
	"os"
	"runtime"
	"time"

	"github.com/ambit-dev/ambit/test/bench/quantile"
)

// Metric is something that is measured; the text is how a table calls it.
type Metric string

// Sample is what was measured once, of a side. A Metric that the side has not is not in it.
type Sample map[Metric]float64

// Median returns the median of what the samples have of a metric; NaN if none has it.
func Median(samples []Sample, m Metric) float64 {
	var values []float64
	for _, got := range samples {
		if v, ok := got[m]; ok {
			values = append(values, v)
		}
	}
	return quantile.Of(values, 0.5)
}

// FormatNumber prints a value with two decimals, a count without, and "-" where there is nothing to say: NaN, or
// infinite.
func FormatNumber(v float64) string {
	switch {
	case math.IsNaN(v), math.IsInf(v, 0):
		return "-"
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// DescribeMachine says where it was measured, for the head of a table.
func DescribeMachine() string {
	return fmt.Sprintf("%s/%s, %d CPUs, %s", runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
}

// Progress tells whoever waits what is going on, on stderr.
func Progress(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "[%s] %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
