package manager

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller"
)

// TestMetersForget: what was counted of a policy goes with it, and only that.
func TestMetersForget(t *testing.T) {
	m, registry := newMeters(), prometheus.NewPedanticRegistry()
	registry.MustRegister(m)
	for _, policy := range []string{"a", "b"} {
		m.ObserveReconcile(controller.ReconcileSample{Policy: policy, Result: controller.ResultReady, Took: time.Second, Steps: 7})
		m.ObserveWrite(controller.WriteSample{Policy: policy, Resource: schema.GroupResource{Resource: "pods"}, Outcome: controller.OutcomeCreated})
		m.ObserveLatency(controller.LatencySample{Policy: policy, For: controller.ForWrite, Took: time.Second})
		m.ObserveLatency(controller.LatencySample{Policy: policy, For: controller.ForRights, Took: time.Second})
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
				m.ObserveReconcile(controller.ReconcileSample{Policy: fmt.Sprintf("p-%d-%d", worker, i), Result: controller.ResultReady})
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
