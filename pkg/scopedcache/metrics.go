package scopedcache

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// metrics are the descriptions of what a cache says of itself. They have the names that Ambit's own have.
type metrics struct {
	denied, watches, objects, probes, reopens *prometheus.Desc
}

// Collector returns metrics of the cache, to be registered, as with metrics.Registry of controller-runtime. A
// process that runs Ambit as well has them twice, and registers these with a prefix
// (prometheus.WrapRegistererWithPrefix).
func (c *Cache) Collector() prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return &collector{c, metrics{
		denied:  desc("ambit_denied", "1 for each access that is needed now and denied. An empty namespace means all namespaces.", "verb", "resource", "namespace"),
		watches: desc("ambit_watches", "How many streams from the API server are needed now, by resource and state.", "resource", "state"),
		objects: desc("ambit_watched_objects", "How many objects are cached, by resource.", "resource"),
		probes:  desc("ambit_access_probes_total", "How many access reviews were asked for."),
		reopens: desc("ambit_watch_reopens_total", "How many watches were opened again where they were, without a list."),
	}}
}

type collector struct {
	cache   *Cache
	metrics metrics
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.metrics.denied, c.metrics.watches, c.metrics.objects, c.metrics.probes, c.metrics.reopens} {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	type denial struct {
		access    access.Access
		namespace string
	}
	type group struct {
		resource string
		state    informer.State
	}
	denied, watches, objects := map[denial]bool{}, map[group]int{}, map[string]int{}
	for _, k := range c.cache.registry.WatchedStores() {
		resource := k.Mapping.Resource.GroupResource().String()
		states := k.StreamStates()
		for _, s := range k.AllStreams() {
			objects[resource] += s.ObjectCount()
			state := states[s.Namespace]
			watches[group{resource, state.State}]++
			if s.IsReviewed {
				continue
			}
			for _, a := range state.Missing {
				denied[denial{a, s.RequestNamespace}] = true
			}
		}
	}
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	for d := range denied {
		gauge(c.metrics.denied, 1, d.access.Verb, resourceOf(d.access).String(), d.namespace)
	}
	for g, n := range watches {
		gauge(c.metrics.watches, n, g.resource, string(g.state))
	}
	for resource, n := range objects {
		gauge(c.metrics.objects, n, resource)
	}
	out <- prometheus.MustNewConstMetric(c.metrics.probes, prometheus.CounterValue, float64(c.cache.reviews.CountRequests()))
	out <- prometheus.MustNewConstMetric(c.metrics.reopens, prometheus.CounterValue, float64(c.cache.informers.CountReopened()))
}

var (
	errNotStarted = errors.New("the cache has not started")
	errNotSettled = errors.New("some streams have not been answered yet")
)

// CheckHealth is a healthz.Checker, for readiness: nil once each stream is synced or refused, and from then on: a
// namespace or a kind that comes makes nobody unready. Nor does what is denied: the process does what it may.
func (c *Cache) CheckHealth(*http.Request) error {
	if !c.hasStarted() {
		return errNotStarted
	}
	if c.wasSettled.Load() {
		return nil
	}
	for _, k := range c.registry.WatchedStores() {
		if !k.IsAnswered() {
			return errNotSettled
		}
	}
	c.wasSettled.Store(true)
	return nil
}
