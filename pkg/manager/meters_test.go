package manager

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
)

// TestMetersForget: what was counted of a policy goes with it, and only that.
func TestMetersForget(t *testing.T) {
	m, registry := newMeters(), prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	for _, policy := range []string{"a", "b"} {
		m.ObserveReconcile(telemetry.ReconcileSample{Policy: policy, Result: telemetry.ResultReady, Took: time.Second, Steps: 7})
		m.ObserveWrite(telemetry.WriteSample{Policy: policy, Resource: schema.GroupResource{Resource: "pods"}, Outcome: telemetry.OutcomeCreated})
		m.ObserveLatency(telemetry.LatencySample{Policy: policy, For: telemetry.ForWrite, Took: time.Second})
		m.ObserveLatency(telemetry.LatencySample{Policy: policy, For: telemetry.ForRights, Took: time.Second})
	}
	count := func() int {
		series := 0
		for _, family := range gathered(t, registry) {
			series += len(family.GetMetric())
		}
		return series
	}
	all := count()
	m.retainPolicies(map[string]bool{"a": true})
	if left := count(); left != all/2 || all == 0 {
		t.Errorf("%d series are left of %d, want half", left, all)
	}
	m.retainPolicies(nil)
	if left := count(); left != 0 {
		t.Errorf("%d series are left", left)
	}
}

// TestMetersGone: the last pass of a policy that is gone leaves nothing behind, whenever
// somebody asks for metrics.
func TestMetersGone(t *testing.T) {
	m := newMeters()
	var passing, asking sync.WaitGroup
	over := make(chan struct{})
	asking.Go(func() {
		for {
			select {
			case <-over:
				return
			default:
				m.retainPolicies(nil)
			}
		}
	})
	for worker := range 4 {
		passing.Go(func() {
			for i := range 5000 {
				m.ObserveReconcile(telemetry.ReconcileSample{Policy: fmt.Sprintf("p-%d-%d", worker, i), Result: telemetry.ResultReady})
			}
		})
	}
	passing.Wait()
	close(over)
	asking.Wait()
	m.retainPolicies(nil)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	for _, family := range gathered(t, registry) {
		t.Errorf("there are %d series of %s for policies that are gone", len(family.GetMetric()), family.GetName())
	}
}
