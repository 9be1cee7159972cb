package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"text/tabwriter"
)

// write prints what was measured: a row for each metric, with the median of each
// side and the ratios of Ambit to the others. It says how it was measured, so
// that a table can be read without this file.
func write(w io.Writer, o options, samples map[string][]sample) error {
	fmt.Fprintf(w, "\n%d owners in %d namespaces, %d workers, medians of %d rounds, sides in turn; %s/%s, %d CPUs, %s.\n",
		o.Owners, o.Namespaces, o.Workers, o.Rounds, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprint(w, `Converged: every owner has a Deployment of its size and a status about its generation.
"process start": the owners are there before the process. "first owner made": it runs before them.
bare: only the two writes. handwritten: controller-runtime, a status patch each pass. frugal: the same
without status patches that change nothing. Requests are counted in the audit log.

`)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	others := slices.DeleteFunc(slices.Clone(o.Sides), func(s string) bool { return s == sideAmbit })
	header(table, o.Sides, others)
	for _, m := range metrics() {
		row(table, m, o, samples, others)
	}
	return table.Flush()
}

// header prints the names of the columns.
func header(w io.Writer, sides, others []string) {
	fmt.Fprint(w, "\t")
	for _, s := range sides {
		fmt.Fprintf(w, "%s\t", s)
	}
	if slices.Contains(sides, sideAmbit) {
		for _, s := range others {
			fmt.Fprintf(w, "%s/%s\t", sideAmbit, s)
		}
	}
	fmt.Fprintln(w)
}

// row prints one metric.
func row(w io.Writer, m metric, o options, samples map[string][]sample, others []string) {
	fmt.Fprintf(w, "%s\t", m)
	for _, s := range o.Sides {
		fmt.Fprintf(w, "%s\t", number(median(values(samples[s], m))))
	}
	if own := median(values(samples[sideAmbit], m)); slices.Contains(o.Sides, sideAmbit) {
		for _, s := range others {
			fmt.Fprintf(w, "%s\t", number(own/median(values(samples[s], m))))
		}
	}
	fmt.Fprintln(w)
}

// values returns what the samples have of a metric.
func values(samples []sample, m metric) []float64 {
	var out []float64
	for _, s := range samples {
		if v, ok := s[m]; ok {
			out = append(out, v)
		}
	}
	return out
}

// number prints a value with two decimals, a count without, and "-" where there
// is nothing to say.
func number(v float64) string {
	switch {
	case math.IsNaN(v), math.IsInf(v, 0):
		return "-"
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
