package manager

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
)

// meters count what the engine does, as it does it. Safe for concurrent use.
type meters struct {
	passes, writes, steps       *prometheus.CounterVec
	took, eventToWrite, restore *prometheus.HistogramVec

	mu    sync.Mutex // guards known; held while something is counted of a policy
	known map[string]bool
}

var (
	_ telemetry.Metrics    = (*meters)(nil)
	_ prometheus.Collector = (*meters)(nil)
)

func newMeters() *meters {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, []string{"policy"})
	}
	return &meters{
		known: map[string]bool{},
		passes: counter("ambit_reconcile_total",
			"How many passes over owners there were, by result: ready, progressing, stalled (somebody has to act), "+
				"waiting (for a first list or a review of permissions) or error.", "policy", "result"),
		writes: counter("ambit_applies_total",
			"How many writes for children there were, by outcome: created, updated, pruned (deleted), refused, or unchanged, "+
				"which was sent and made no difference. A steady rate of updated or unchanged says that somebody undoes what Ambit does.",
			"policy", "resource", "outcome"),
		steps: counter("ambit_cel_steps_total",
			"What the expressions of a policy have cost, in steps: about the number of parts that were evaluated and of values that functions looked at.", "policy"),
		took: histogram("ambit_reconcile_duration_seconds", "How long passes over owners took, their writes included.",
			[]float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10}),
		eventToWrite: histogram("ambit_event_to_write_seconds",
			"From an event that concerns an owner to the answer of the first write of the pass that it led to.",
			[]float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}),
		restore: histogram("ambit_recovery_seconds",
			"From the pass that found a permission missing for an owner to the end of the pass that had all of them.",
			[]float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 3600, 21600}),
	}
}

// ObserveReconcile implements telemetry.Metrics.
func (m *meters) ObserveReconcile(p telemetry.ReconcileSample) {
	defer m.countPolicy(p.Policy)()
	m.passes.WithLabelValues(p.Policy, p.Result).Inc()
	m.took.WithLabelValues(p.Policy).Observe(p.Took.Seconds())
	m.steps.WithLabelValues(p.Policy).Add(float64(p.Steps))
}

// ObserveWrite implements telemetry.Metrics.
func (m *meters) ObserveWrite(w telemetry.WriteSample) {
	defer m.countPolicy(w.Policy)()
	m.writes.WithLabelValues(w.Policy, w.Resource.String(), w.Outcome).Inc()
}

// ObserveLatency implements telemetry.Metrics.
func (m *meters) ObserveLatency(w telemetry.LatencySample) {
	defer m.countPolicy(w.Policy)()
	if w.For == telemetry.ForRights {
		m.restore.WithLabelValues(w.Policy).Observe(w.Took.Seconds())
		return
	}
	m.eventToWrite.WithLabelValues(w.Policy).Observe(w.Took.Seconds())
}

// countPolicy notes that something is counted of a policy. The result is to be called when it
// was: retain would overlook it in between.
func (m *meters) countPolicy(policy string) (counted func()) {
	m.mu.Lock()
	m.known[policy] = true
	return m.mu.Unlock
}

// retainPolicies drops what was counted of policies that are not there any more. Of a policy
// that is counted again it begins at 0, as at a restart.
func (m *meters) retainPolicies(there map[string]bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for policy := range m.known {
		if there[policy] {
			continue
		}
		delete(m.known, policy)
		of := prometheus.Labels{"policy": policy}
		for _, vec := range []interface{ DeletePartialMatch(prometheus.Labels) int }{m.passes, m.writes, m.steps, m.took, m.eventToWrite, m.restore} {
			vec.DeletePartialMatch(of)
		}
	}
}

func (m *meters) allCollectors() []prometheus.Collector {
	return []prometheus.Collector{m.passes, m.writes, m.steps, m.took, m.eventToWrite, m.restore}
}

// Describe implements prometheus.Collector.
func (m *meters) Describe(out chan<- *prometheus.Desc) {
	for _, c := range m.allCollectors() {
		c.Describe(out)
	}
}

// Collect implements prometheus.Collector.
func (m *meters) Collect(out chan<- prometheus.Metric) {
	for _, c := range m.allCollectors() {
		c.Collect(out)
	}
}
