package manager

import (
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// collector makes metrics of what the parts say of themselves, when it is asked, and
// passes on what meters have counted. Safe for concurrent use.
type collector struct {
	meters    *meters
	readiness *readiness
	kinds     []manifest.Kind // where policies come from
	programs  []*policy.Program
	parts     atomic.Pointer[parts] // nil while this process does not lead
	desc      descriptions
}

// descriptions of metrics; every one has its place in list.
type descriptions struct {
	denied, halted, owners, watches, objects, bytes, probes, reopens, waking, woken, policies, info, leader *prometheus.Desc
}

var _ prometheus.Collector = (*collector)(nil)

func newCollector(m *meters, r *readiness, o Options) *collector {
	return &collector{meters: m, readiness: r, kinds: o.Sources.sourceKinds(), programs: o.Programs, desc: newDescriptions()}
}

// setParts has metrics made of these parts; nil: there are none.
func (c *collector) setParts(made *parts) { c.parts.Store(made) }

func newDescriptions() descriptions {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc(name, help, labels, nil)
	}
	return descriptions{
		denied: desc("ambit_denied",
			"1 for each access that a policy needs now and is denied. An empty namespace means all namespaces; "+
				"more than 100 namespaces of a policy are counted together, as namespace (more).",
			"policy", "verb", "resource", "namespace"),
		halted: desc("ambit_policy_halted",
			"1 for each policy that cannot do its work as a whole, such as one whose ServiceAccount does not exist.", "policy", "reason"),
		owners: desc("ambit_owners",
			"How many owners a policy works on, by state: ready, progressing, or stalled, which means that somebody has to act.", "policy", "state"),
		watches:  desc("ambit_watches", "How many streams from the API server are needed now, by resource and state.", "resource", "state"),
		objects:  desc("ambit_watched_objects", "How many objects are cached, by resource.", "resource"),
		bytes:    desc("ambit_watched_bytes", "About how many bytes the cached objects take, by resource, estimated from a few of them.", "resource"),
		probes:   desc("ambit_access_probes_total", "How many access reviews were asked for."),
		reopens:  desc("ambit_watch_reopens_total", "How many watches were opened again where they were, without a list."),
		waking:   desc("ambit_wakes_pending", "How many owners are to be looked at again at a time, because their plans change then by themselves."),
		woken:    desc("ambit_wakes_total", "How many owners were looked at again because such a time had come."),
		policies: desc("ambit_policies", "How many policies there are, by source and state: valid, invalid, superseded by another of the same namespace and name or of the same owners, or stopped, as its file has no more text of it.", "source", "state"),
		info:     desc("ambit_policy_info", "1 for each policy that is run, with the kind of its owners and whom it acts as; an empty identity is Ambit's own.", "policy", "owner", "identity"),
		leader:   desc("ambit_leader", "1 while this replica works, 0 while it waits for another one."),
	}
}

func (d descriptions) allDescriptions() []*prometheus.Desc {
	return []*prometheus.Desc{d.denied, d.halted, d.owners, d.watches, d.objects, d.bytes, d.probes, d.reopens, d.waking, d.woken, d.policies, d.info, d.leader}
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.desc.allDescriptions() {
		out <- d
	}
	c.meters.Describe(out)
}

// gauges is where metrics go.
type gauges chan<- prometheus.Metric

func (g gauges) setGauge(d *prometheus.Desc, value int, labels ...string) {
	g <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	leader := 0
	if c.readiness.isLeading() {
		leader = 1
	}
	gauges(out).setGauge(c.desc.leader, leader)
	if made := c.parts.Load(); made != nil {
		c.collectController(out, made.controller)
		c.meters.retainPolicies(made.policiesInUse())
		c.collectStreams(out, made.streams)
		c.collectPolicies(out, made)
		out <- prometheus.MustNewConstMetric(c.desc.probes, prometheus.CounterValue, float64(made.reviewer.CountRequests()))
		waiting, woken := made.controller.CountWakes()
		out <- prometheus.MustNewConstMetric(c.desc.waking, prometheus.GaugeValue, float64(waiting))
		out <- prometheus.MustNewConstMetric(c.desc.woken, prometheus.CounterValue, float64(woken))
		out <- prometheus.MustNewConstMetric(c.desc.reopens, prometheus.CounterValue, float64(made.streams.CountReopened()))
	}
	c.meters.Collect(out)
}

func (c *collector) collectController(out gauges, e *controller.Controller) {
	for d, n := range countDenials(e.Denied()) {
		out.setGauge(c.desc.denied, n, d.policy, d.verb, d.resource, d.namespace)
	}
	for _, h := range e.PolicyErrors() {
		out.setGauge(c.desc.halted, 1, h.Policy, h.Reason)
	}
	for _, o := range e.Owners() {
		out.setGauge(c.desc.owners, o.Ready, o.Policy, "ready")
		out.setGauge(c.desc.owners, o.Progressing, o.Policy, "progressing")
		out.setGauge(c.desc.owners, o.Stalled, o.Policy, "stalled")
	}
}

func (c *collector) collectStreams(out gauges, streams *informer.Set) {
	type group struct{ resource, state string }
	watches, objects, bytes := map[group]int{}, map[string]int{}, map[string]int{}
	for _, s := range streams.States() {
		resource := s.Key.GVR.GroupResource().String()
		watches[group{resource, string(s.State)}]++
		objects[resource] += s.Objects
		bytes[resource] += s.Bytes
	}
	for g, n := range watches {
		out.setGauge(c.desc.watches, n, g.resource, g.state)
	}
	for resource, n := range objects {
		out.setGauge(c.desc.objects, n, resource)
		out.setGauge(c.desc.bytes, bytes[resource], resource)
	}
}

// collectPolicies says which policies there are, and which are run.
func (c *collector) collectPolicies(out gauges, made *parts) {
	for _, program := range made.controller.Programs() {
		id := v1alpha1.PolicyID(program.Namespace, program.Name)
		out.setGauge(c.desc.info, 1, id, program.Owner.GVK.GroupKind().String(), program.Identity())
	}
	for group, n := range c.countDocuments(made) {
		out.setGauge(c.desc.policies, n, string(group.kind), string(group.state))
	}
}

// documents is a number of policies, by where they come from and how they are.
type documents struct {
	kind  manifest.Kind
	state registry.State
}

// countDocuments counts the policies that there are.
func (c *collector) countDocuments(made *parts) map[documents]int {
	counts := map[documents]int{}
	for _, kind := range c.kinds {
		for _, state := range []registry.State{registry.Valid, registry.Invalid, registry.Superseded, registry.Stopped} {
			counts[documents{kind, state}] = 0
		}
	}
	if made.source != nil {
		for _, p := range made.source.Policies() {
			counts[documents{p.Origin.Kind, p.State}]++
		}
		return counts
	}
	for _, program := range c.programs {
		state := registry.Valid
		if program.CleanupOnly != nil {
			state = registry.Invalid
		}
		counts[documents{manifest.File, state}]++
	}
	return counts
}

// deniedNamespaces is how many namespaces of a policy have metrics of their own.
const deniedNamespaces = 100

// moreNamespaces stands for all others. It is no legal name.
const moreNamespaces = "(more)"

// denial is a set of labels of ambit_denied.
type denial struct{ policy, verb, resource, namespace string }

// countDenials counts denied accesses by labels: 1 each, but for the namespaces that
// are counted together.
func countDenials(list []controller.Denial) map[denial]int {
	type place struct{ policy, namespace string }
	named, spaces := map[place]bool{}, map[string]int{}
	counts := map[denial]int{}
	for _, d := range list {
		at := place{d.Policy, d.Namespace}
		if !named[at] && spaces[d.Policy] < deniedNamespaces {
			named[at] = true
			spaces[d.Policy]++
		}
		labels := denial{policy: d.Policy, verb: d.Verb, resource: d.Kind(), namespace: d.Namespace}
		if named[at] {
			counts[labels] = 1 // whatever the names of the objects are
			continue
		}
		labels.namespace = moreNamespaces
		counts[labels]++
	}
	return counts
}
