package main

import (
	"fmt"
	"io"
	"math"
	"slices"
	"text/tabwriter"

	"github.com/ambit-dev/ambit/test/bench/report"
)

// writeHead says how it was measured, so that the tables can be read without this file.
func writeHead(w io.Writer, o options) {
	fmt.Fprintf(w, "\nScale 1/%d, %d workers, one run each on a control plane of its own; %s.\n",
		o.Scale, o.Workers, report.DescribeMachine())
	fmt.Fprint(w, `Converged: every owner has all its children and a status about its generation; the owners are there
before the process. Verified: every owner was reconciled, and none for two seconds after. bare: only the
two writes. Memory is read when there was no request for seven seconds.
growth: 1 grows with the number of owners, more grows faster.
(1): what each owner more takes than the run before, with fewer.
`)
}

// column is a run in the table.
type column struct {
	name string
	got  sample
}

// writeTable prints what was measured in a scene, by side: a row for each metric, a column for each run,
// the ratio of Ambit to the bare client with the most owners, and what grows.
func (s scene) writeTable(w io.Writer, samples map[string][]sample) error {
	fmt.Fprintf(w, "\n%s: %s, %d namespaces.\n\n", s.Title, s.Policy, s.On.Namespaces)
	for side := range samples {
		samples[side] = addShares(s.Sizes, samples[side])
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	columns := s.columns(samples)
	fmt.Fprint(table, "\t")
	for _, c := range columns {
		fmt.Fprintf(table, "%s\t", c.name)
	}
	fmt.Fprintln(table)
	for _, m := range metrics() {
		writeRow(table, m, columns)
	}
	return table.Flush()
}

// columns returns the columns of the table, those that are computed too.
func (s scene) columns(samples map[string][]sample) []column {
	var columns []column
	last := len(s.Sizes) - 1
	for i, owners := range s.Sizes {
		for _, side := range s.Sides {
			columns = append(columns, column{fmt.Sprintf("%s %d", side, owners), samples[side][i]})
		}
	}
	if slices.Contains(s.Sides, sideBare) {
		ratio := divide(samples[sideAmbit][last], samples[sideBare][last])
		columns = append(columns, column{fmt.Sprintf("ambit/bare %d", s.Sizes[last]), ratio})
	}
	if last > 0 {
		columns = append(columns, column{"growth", s.growth(samples[sideAmbit])})
	}
	return columns
}

// growth returns how what an owner costs grows, from the first run that has it to the last.
func (s scene) growth(samples []sample) sample {
	grown := sample{}
	for name := range growing() {
		first := slices.IndexFunc(samples, func(got sample) bool { _, ok := got[name]; return ok })
		if last := len(samples) - 1; first >= 0 && first < last {
			grown[name] = samples[last][name] / samples[first][name]
		}
	}
	return grown
}

// divide returns the ratios of what both samples have.
func divide(a, b sample) sample {
	ratios := sample{}
	for name, value := range a {
		if other, ok := b[name]; ok {
			ratios[name] = value / other
		}
	}
	return ratios
}

// writeRow prints one metric, if a run has it.
func writeRow(w io.Writer, m metric, columns []column) {
	if !slices.ContainsFunc(columns, func(c column) bool { _, ok := c.got[m]; return ok }) {
		return
	}
	fmt.Fprintf(w, "%s\t", m)
	for _, c := range columns {
		value, ok := c.got[m]
		if !ok {
			value = math.NaN()
		}
		fmt.Fprintf(w, "%s\t", report.FormatNumber(value))
	}
	fmt.Fprintln(w)
}
