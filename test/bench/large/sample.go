package main

import "github.com/ambit-dev/ambit/test/bench/report"

// metric is something that is measured in a run; the text is how the table calls it.
type metric = report.Metric

// The metrics that are read.
const (
	converged     metric = "process start to converged, s"
	convergedCPU  metric = "processor time till then, s"
	writes        metric = "writes"
	reads         metric = "reads"
	failed        metric = "of these refused or failed"
	watches       metric = "watches opened"
	rss           metric = "resident memory, quiet, MiB"
	peak          metric = "resident memory, most, MiB"
	streams       metric = "watches that are open"
	objects       metric = "objects cached"
	verified      metric = "restart to verified, s"
	verifiedCPU   metric = "processor time till then, after a restart, s"
	restartRSS    metric = "resident memory after a restart, quiet, MiB"
	restartPeak   metric = "resident memory after a restart, most, MiB"
	restartWrites metric = "writes after a restart"
	restartReads  metric = "reads after a restart"
)

// The metrics that follow from them.
const (
	convergedEach    metric = "ms an owner until converged"
	convergedCPUEach metric = "processor time an owner, ms"
	verifiedCPUEach  metric = "processor time an owner after a restart, ms"
	rssEach          metric = "resident memory an owner, KiB (1)"
	restartRSSEach   metric = "the same after a restart, KiB (1)"
)

// metrics returns all metrics in the order of the table.
func metrics() []metric {
	return []metric{
		converged, convergedEach, convergedCPU, convergedCPUEach, writes, reads, failed, watches, streams, objects, rss, rssEach, peak,
		verified, verifiedCPU, verifiedCPUEach, restartRSS, restartRSSEach, restartPeak, restartWrites, restartReads,
	}
}

// sample is what one run gave. A metric that the side has not is not in it.
type sample = report.Sample

// growing are the metrics that say what one more owner costs, and what they follow from.
func growing() map[metric]share {
	return map[metric]share{
		convergedEach:    {of: converged, factor: 1000},
		convergedCPUEach: {of: convergedCPU, factor: 1000},
		verifiedCPUEach:  {of: verifiedCPU, factor: 1000},
		rssEach:          {of: rss, factor: 1024, more: true},
		restartRSSEach:   {of: restartRSS, factor: 1024, more: true},
	}
}

// share is a part of a metric.
type share struct {
	of metric
	// factor makes its unit from that of the metric.
	factor float64
	// more: what each owner more costs than the run with fewer owners did. Not for the first run.
	more bool
}

// addShares returns the samples of one side, by number of owners, with what each owner costs.
func addShares(sizes []int, samples []sample) []sample {
	for i, got := range samples {
		for name, share := range growing() {
			value, ok := got[share.of]
			owners := sizes[i]
			if share.more {
				if ok = ok && i > 0; ok {
					value -= samples[i-1][share.of]
					owners -= sizes[i-1]
				}
			}
			if ok && owners > 0 {
				got[name] = value * share.factor / float64(owners)
			}
		}
	}
	return samples
}
