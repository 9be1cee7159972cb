package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/ambit-dev/ambit/test/bench/report"
)

// write prints what was measured: a row for each metric, with the median of each
// side and the ratios of Ambit to the others. It says how it was measured, so
// that a table can be read without this file.
func write(w io.Writer, o options, samples map[string][]sample) error {
	fmt.Fprintf(w, "\n%d owners in %d namespaces, %d workers, medians of %d rounds, sides in turn; %s.\n",
		o.Owners, o.Namespaces, o.Workers, o.Rounds, report.DescribeMachine())
	fmt.Fprint(w, `Converged: every owner has a Deployment of its size and a status about its generation.
"process start": the owners are there before the process. "first owner made": it runs before them.
bare: only the two writes. handwritten: controller-runtime, a status patch each pass. frugal: the same
without status patches that change nothing. Requests are counted in the audit log.
`)
	fmt.Fprintf(w, "touch: of %d owners of each side in turn, each side on a control plane of its own.\n\n", touchBlock)
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
		fmt.Fprintf(w, "%s\t", report.FormatNumber(report.Median(samples[s], m)))
	}
	if own := report.Median(samples[sideAmbit], m); slices.Contains(o.Sides, sideAmbit) {
		for _, s := range others {
			fmt.Fprintf(w, "%s\t", report.FormatNumber(own/report.Median(samples[s], m)))
		}
	}
	fmt.Fprintln(w)
}
