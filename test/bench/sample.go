package main

import (
	"time"

	"github.com/ambit-dev/ambit/test/bench/report"
)

// metric is something that is measured of a side in each turn; the text is how
// the table calls it.
type metric = report.Metric

// The metrics.
const (
	converge      metric = "process start to converged, s"
	convergeCPU   metric = "processor time till then, s"
	live          metric = "first owner made to converged, s"
	liveRequests  metric = "requests an owner for that"
	writes        metric = "writes an owner"
	reads         metric = "reads an owner"
	failed        metric = "of these refused or failed, in all"
	watches       metric = "watches opened"
	rss           metric = "resident memory, quiet, MiB"
	peak          metric = "resident memory, most, MiB"
	touchP50      metric = "touch to Deployment, p50, ms"
	touchP99      metric = "touch to Deployment, p99, ms"
	touchRequests metric = "requests a touch"
	restartWrites metric = "writes after a restart"
	restartReads  metric = "reads after a restart"
)

// metrics returns all metrics in the order of the table.
func metrics() []metric {
	return []metric{
		converge, convergeCPU, live, liveRequests, writes, reads, failed, watches, rss, peak,
		touchP50, touchP99, touchRequests, restartWrites, restartReads,
	}
}

// sample is what one turn of a side gave. A metric that the side has not is not
// in it.
type sample = report.Sample

// milliseconds returns durations in ms.
func milliseconds(durations []time.Duration) []float64 {
	out := make([]float64, len(durations))
	for i, d := range durations {
		out[i] = float64(d) / float64(time.Millisecond)
	}
	return out
}
