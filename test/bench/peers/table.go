package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"github.com/ambit-dev/ambit/test/bench/report"
)

// table is all that is printed.
type table struct {
	options
	sides []side
	// absent says which sides are left out, and why.
	absent  []error
	samples map[string][]sample
}

// writeTable prints what was measured: a row for each metric with the median of each side, then the
// same as multiples of Ambit's. It says how it was measured, so that it can be read without this
// file.
func writeTable(w io.Writer, t table) error {
	fmt.Fprintf(w, "\n%d owners in %d namespaces, medians of %d rounds, a control plane for each turn; %s.\n",
		t.Owners, t.Namespaces, t.Rounds, report.DescribeMachine())
	fmt.Fprint(w, `Converged: every owner has a Deployment of its size and a status about its generation; the owners are
there before the process. Requests are counted in the audit log, without watches. metacontroller is
measured with its webhook.

`)
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	t.writeRows(out, "", t.middle)
	if t.hasAmbit() && len(t.sides) > 1 {
		fmt.Fprintln(out)
		t.writeRows(out, "as multiples of "+sideAmbit, func(name string, m metric) float64 {
			return t.middle(name, m) / t.middle(sideAmbit, m)
		})
	}
	if err := out.Flush(); err != nil {
		return err
	}
	t.writeFoot(w)
	return nil
}

// writeRows prints the names of the sides and a row for each metric, with what value returns.
func (t table) writeRows(w io.Writer, title string, value func(side string, m metric) float64) {
	fmt.Fprintf(w, "%s\t", title)
	for _, s := range t.sides {
		fmt.Fprintf(w, "%s\t", s.name)
	}
	fmt.Fprintln(w)
	for _, m := range allMetrics() {
		fmt.Fprintf(w, "%s\t", m)
		for _, s := range t.sides {
			fmt.Fprintf(w, "%s\t", report.FormatNumber(value(s.name, m)))
		}
		fmt.Fprintln(w)
	}
}

// writeFoot says what the sides are, and which are left out.
func (t table) writeFoot(w io.Writer) {
	fmt.Fprintln(w)
	for _, s := range t.sides {
		fmt.Fprintf(w, "%s: %s\n", s.name, s.what)
	}
	for _, err := range t.absent {
		fmt.Fprintln(w, err)
	}
}

// hasAmbit says whether Ambit takes part.
func (t table) hasAmbit() bool {
	return slices.ContainsFunc(t.sides, func(s side) bool { return s.name == sideAmbit })
}

// middle returns the median of what was measured of a side; NaN if nothing was.
func (t table) middle(side string, m metric) float64 {
	return report.Median(t.samples[side], m)
}
