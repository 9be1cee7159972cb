package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"
)

// write prints what was measured. It says how it was measured, so that a table can be
// read without this file.
func write(w io.Writer, o options, results []result) error {
	fmt.Fprintf(w, "\nA tenant of %d namespaces, %s of peace; %s/%s, %d CPUs, %s.\n",
		o.Namespaces, o.Peace, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprint(w, `Times count from just before the request to when all of its effect was seen. Requests are Ambit's own,
in the audit log, without watches; children of a deleted tenant are Kubernetes' to collect.

`)
	if err := writeSteps(w, results); err != nil {
		return err
	}
	fmt.Fprintln(w)
	return writeRequests(w, results)
}

// writeSteps prints a row for each step.
func writeSteps(w io.Writer, results []result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\ttook\tlast write\twrites\tfailed\treads\tCPU\tresident\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%d\t%d\t%s\t%.1f MiB\t\n", r.step, seconds(r.took), seconds(r.lastWrite),
			r.asked.all(), r.asked.failed(), r.asked.reads, seconds(r.cpu), r.rss/(1<<20))
	}
	return table.Flush()
}

// writeRequests prints a row for each sort of write, with a column for each step.
func writeRequests(w io.Writer, results []result) error {
	sorts := map[request]bool{}
	for _, r := range results {
		for sort := range r.asked.writes {
			sorts[sort] = true
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "writes\t")
	for _, r := range results {
		fmt.Fprintf(table, "%s\t", r.step)
	}
	fmt.Fprintln(table)
	for _, sort := range slices.SortedFunc(maps.Keys(sorts), func(a, b request) int {
		return cmp.Or(cmp.Compare(a.resource, b.resource), cmp.Compare(a.verb, b.verb), cmp.Compare(a.failed, b.failed))
	}) {
		fmt.Fprintf(table, "%s\t", sort)
		for _, r := range results {
			fmt.Fprintf(table, "%d\t", r.asked.writes[sort])
		}
		fmt.Fprintln(table)
	}
	return table.Flush()
}

// seconds prints a time as people say it; "-" for none.
func seconds(d time.Duration) string {
	switch {
	case d == 0:
		return "-"
	case d < time.Second:
		return fmt.Sprintf("%.0f ms", 1000*d.Seconds())
	}
	return fmt.Sprintf("%.2f s", d.Seconds())
}
