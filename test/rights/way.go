package main

import "time"

// metric is a latency that is measured in each cycle; the text is how the table
// calls it.
type metric string

// The metrics.
const (
	deniedToStatus  metric = "denied from the start to status"
	grantToChild    metric = "grant to child created"
	revokeToStatus  metric = "revoke to status"
	revokeToClosing metric = "revoke to stream closed"
)

// metrics returns all metrics in the order of the table.
func metrics() []metric {
	return []metric{deniedToStatus, grantToChild, revokeToStatus, revokeToClosing}
}

// way is how Ambit can learn of changes of its rights.
type way struct {
	title string
	// user is the name that Ambit has for the API server: its requests in the audit
	// log are those of this way.
	user string
	// watchable: RBAC objects may be watched.
	watchable bool
	// aims are for p99. A metric without aim is only printed.
	aims map[metric]time.Duration
}

// ways returns both.
func ways() []way {
	return []way{
		{
			title: "RBAC objects watchable", user: "rights-watching", watchable: true,
			aims: map[metric]time.Duration{
				deniedToStatus: time.Second, grantToChild: time.Second, revokeToStatus: time.Second, revokeToClosing: time.Second,
			},
		},
		{
			title: "RBAC objects not watchable", user: "rights-reopening",
			aims: map[metric]time.Duration{grantToChild: 5 * time.Second, revokeToClosing: 5 * time.Second},
		},
	}
}

// result is what was measured of a way.
type result struct {
	way way
	// latencies are in seconds, one each cycle.
	latencies map[metric][]float64
	// streams is how many watches were open while the cost was measured.
	streams int
	// cost is what they cost meanwhile; only where RBAC objects are not watchable.
	cost *cost
	// reviews are the access and rules reviews in a second, while there were cycles.
	reviews float64
	// before and after are what Ambit used before the first cycle and after the last.
	before, after footprint
}

// cost is what open watches cost while nothing happens.
type cost struct {
	// reopened and counted are reopens a second: by the audit log, and by Ambit's own
	// metric.
	reopened, counted float64
	// listed are lists a second, by the audit log.
	listed float64
	// cpu is the share of a core that Ambit used.
	cpu float64
}
