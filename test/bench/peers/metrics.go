package main

import "github.com/ambit-dev/ambit/test/bench/report"

// metric is something that is measured of a side in each turn; the text is how the table calls it.
type metric = report.Metric

// The metrics.
const (
	converged       metric = "process start to converged, s"
	convergedCPU    metric = "processor time till then, s"
	serverCPU       metric = "processor time of the API server till then, s"
	requests        metric = "requests an owner"
	writes          metric = "of these writes"
	failed          metric = "refused or failed, in all"
	watches         metric = "watches opened"
	resident        metric = "resident memory, quiet, MiB"
	peak            metric = "resident memory, most, MiB"
	quietWatches    metric = "watches opened a minute, quiet"
	quietCPU        metric = "processor time a minute, quiet, s"
	quietTheirs     metric = "processor time of the API server a minute, quiet, s"
	restartRequests metric = "requests after a restart"
	restartWrites   metric = "of these writes, after a restart"
	restartCPU      metric = "processor time for a restart, s"
	restartTheirs   metric = "processor time of the API server for it, s"
)

// allMetrics returns all metrics in the order of the table.
func allMetrics() []metric {
	return []metric{
		converged, convergedCPU, serverCPU, requests, writes, failed, watches, resident, peak,
		quietWatches, quietCPU, quietTheirs, restartRequests, restartWrites, restartCPU, restartTheirs,
	}
}

// sample is what one turn of a side gave. A metric that the side has not is not in it.
type sample = report.Sample
