package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"text/tabwriter"
	"time"

	"github.com/ambit-dev/ambit/test/bench/quantile"
)

// write prints what was measured. It says how it was measured, so that a table
// can be read without this file.
func write(w io.Writer, o options, results []result) error {
	fmt.Fprintf(w, "\nRights that come and go: %d cycles over %d namespaces at the same time, pauses of up to %s (-seed %d); %s/%s, %d CPUs, %s.\n",
		o.Cycles, o.Namespaces, o.Pause, o.Seed, runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), runtime.Version())
	fmt.Fprint(w, `A cycle: an owner is made where Ambit may do nothing; a RoleBinding is made; it is deleted. Times
count from just before the request; "stream closed" is the end of the last watch there, in the audit log.
`)
	for _, r := range results {
		if err := r.write(w); err != nil {
			return err
		}
	}
	return nil
}

// write prints the result of one way.
func (r result) write(w io.Writer) error {
	fmt.Fprintf(w, "\n%s", r.way.title)
	if r.cost != nil {
		fmt.Fprintf(w, ", up to %d watches open", r.streams)
	}
	fmt.Fprint(w, "\n\n")
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "\tp50\tp99\tmax\taim for p99\t\t")
	for _, m := range metrics() {
		r.row(table, m)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	r.writeCost(w)
	fmt.Fprintf(w, "reviews while there were cycles: %.1f a second\n", r.reviews)
	fmt.Fprintf(w, "after the cycles (before): %s goroutines (%s), %s MiB of live heap (%s), %s MiB resident (%s)\n",
		number(r.after.goroutines), number(r.before.goroutines), mebibytes(r.after.heap), mebibytes(r.before.heap),
		mebibytes(r.after.rss), mebibytes(r.before.rss))
	return nil
}

// row prints one metric.
func (r result) row(w io.Writer, m metric) {
	values := r.latencies[m]
	p99 := quantile.Of(values, 0.99)
	aim, verdict := "", ""
	if limit, ok := r.way.aims[m]; ok {
		aim, verdict = limit.String(), judge(p99, limit)
	}
	fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t\n", m, took(quantile.Of(values, 0.5)), took(p99), took(quantile.Of(values, 1)), aim, verdict)
}

// judge says whether a value in seconds keeps to its limit. What was not measured
// does not.
func judge(value float64, limit time.Duration) string {
	if value <= limit.Seconds() {
		return "met"
	}
	return "missed"
}

// writeCost prints what open watches cost.
func (r result) writeCost(w io.Writer) {
	if r.cost == nil {
		return
	}
	fmt.Fprintf(w, "while nothing happens, with %d watches open: %.1f reopens a second (audit log), %s (ambit_watch_reopens_total), %.1f lists,\n",
		r.streams, r.cost.reopened, number(r.cost.counted), r.cost.listed)
	fmt.Fprintf(w, "  ambit uses %.1f %% of a core\n", 100*r.cost.cpu)
}

// took prints seconds as people say them.
func took(seconds float64) string {
	switch {
	case math.IsNaN(seconds):
		return "-"
	case seconds < 1:
		return fmt.Sprintf("%.0f ms", 1000*seconds)
	}
	return fmt.Sprintf("%.2f s", seconds)
}

// mebibytes prints bytes.
func mebibytes(bytes float64) string { return number(bytes / (1 << 20)) }

// number prints a value with one decimal, a count without, and "-" where there is
// nothing to say.
func number(v float64) string {
	switch {
	case math.IsNaN(v):
		return "-"
	case v == math.Trunc(v):
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.1f", v)
}
