package scopedcache

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/test/sim"
)

// TestMetrics: what is denied and what is watched is in the metrics, and what is denied makes nobody unready. The log says
// once that it is, and that it no longer is.
func TestMetrics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &plan{T: t, random: rand.New(rand.NewPCG(1, 1)), granted: map[string]bool{}, seen: map[string]string{}}
		p.server = sim.New(sim.Options{Seed: 1, Faults: p})
		p.admin = p.server.As(sim.Admin).Dynamic()
		for _, namespace := range allPlaces[:2] {
			p.write(namespaceResource, "", object("v1", "Namespace", namespace))
			p.write(roleResource, namespace, readerRole())
		}
		p.write(configMapResource, "one", object("v1", "ConfigMap", "a"))
		p.flipRight("one")
		p.makeCacheOf(Options{Namespaces: InNamespaces(allPlaces[:2]...)}, nil)
		var logged []string
		p.cache.logger = funcr.New(func(_, line string) { logged = append(logged, line) }, funcr.Options{})
		if p.cache.CheckHealth(nil) == nil {
			t.Error("it is healthy before it has started")
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { p.must(p.cache.Start(ctx)) })
		_, err := p.cache.GetInformer(ctx, newConfigMap(), cache.BlockUntilSynced(false))
		p.must(err)
		time.Sleep(time.Minute)
		synctest.Wait()
		p.must(p.cache.CheckHealth(nil))
		want := []string{
			"ambit_denied two configmaps list 1", "ambit_denied two configmaps watch 1",
			"ambit_watched_objects configmaps 1", "ambit_watches configmaps Forbidden 1", "ambit_watches configmaps Live 1",
		}
		if diff := cmp.Diff(want, p.gauges()); diff != "" {
			t.Errorf("metrics (-want +got):\n%s", diff)
		}
		p.flipRight("two")
		time.Sleep(time.Minute)
		synctest.Wait()
		if len(logged) != 2 || !strings.Contains(logged[0], `"cannot be read"`) || !strings.Contains(logged[0], `in namespace \"two\"`) || !strings.Contains(logged[1], `"can be read again"`) {
			t.Errorf("the log says %q", logged)
		}
		registry := prometheus.NewRegistry()
		p.must(registry.Register(p.cache.Collector()))
		p.must(prometheus.WrapRegistererWithPrefix("operator_", registry).Register(p.cache.Collector()))
		p.failing.Store(true)
		p.must(p.cache.SetNamespaces(allPlaces...))
		time.Sleep(time.Minute)
		p.must(p.cache.CheckHealth(nil)) // a namespace that comes is no reason
		stop()
		running.Wait()
	})
}

// gauges returns the gauges of the cache as text, sorted.
func (p *plan) gauges() (list []string) {
	p.Helper()
	registry := prometheus.NewPedanticRegistry()
	p.must(registry.Register(p.cache.Collector()))
	families, err := registry.Gather()
	p.must(err)
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			text := family.GetName()
			for _, label := range metric.GetLabel() {
				if label.GetValue() != "" {
					text += " " + label.GetValue()
				}
			}
			if metric.Gauge != nil {
				list = append(list, fmt.Sprint(text, " ", metric.GetGauge().GetValue()))
			}
		}
	}
	slices.Sort(list)
	return list
}
