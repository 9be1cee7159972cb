package objectsource

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/test/sim"
)

// readStep is something that happens, and what is read after it.
type readStep struct {
	reason  string
	do      func(*cluster)
	want    string
	problem string // what ReadProblems says, in part; empty: nothing
}

// playSteps plays steps on a new cluster.
func playSteps(t *testing.T, make func(Options) *Source, prepare func(*cluster), steps []readStep, namespaces ...string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := newCluster(t, nil)
		prepare(c)
		c.start(make, namespaces...)
		for _, step := range steps {
			step.do(c)
			c.read()
			if got := c.describe(); got != step.want {
				t.Errorf("%s: it reads %q, want %q", step.reason, got, step.want)
			}
			if got := strings.Join(c.source.ReadProblems(), "\n"); !strings.Contains(got, step.problem) || step.problem == "" && got != "" {
				t.Errorf("%s: the problems are %q, want %q", step.reason, got, step.problem)
			}
		}
	})
}

// nothing is done.
func nothing(*cluster) {}

// TestReadScope: where policies are read follows rights, and what may not be seen is not reported as gone: its namespace
// is not among those of which everything is known.
func TestReadScope(t *testing.T) {
	var revokeOwn, revokeAll func()
	const group, read = "ambit.dev", "list, watch"
	playSteps(t, ForCustomResources, func(c *cluster) {
		for _, namespace := range []string{"own", "team", "other"} {
			c.createPolicy(namespace, "p v1")
		}
	}, []readStep{
		{reason: "there are no rights", do: nothing, want: "", problem: `cannot list, watch reconcilepolicies.ambit.dev in any namespace, nor in ["own" "team"]`},
		{reason: "to list is not to watch", do: func(c *cluster) { c.grant("own", group, v1alpha1Resource, "list") }, want: "", problem: "cannot list, watch"},
		{reason: "one namespace is", do: func(c *cluster) { revokeOwn = c.grant("own", group, v1alpha1Resource, read) },
			want: "all-of-own own/p", problem: `policies in custom resources are read in namespace "own" only`},
		{reason: "a namespace that nobody named is not looked at", do: func(c *cluster) { c.grant("other", group, v1alpha1Resource, read) },
			want: "all-of-own own/p", problem: `in namespace "own" only`},
		{reason: "one that was named is", do: func(c *cluster) { c.grant("team", group, v1alpha1Resource, read) },
			want: "all-of-own all-of-team own/p team/p", problem: `in namespaces ["own" "team"] only`},
		{reason: "all are", do: func(c *cluster) { revokeAll = c.grant("", group, v1alpha1Resource, read) }, want: "all-of- other/p own/p team/p"},
		{reason: "what can be seen no longer is not gone", do: func(c *cluster) { revokeAll() }, want: "all-of-own all-of-team own/p team/p", problem: `in namespaces ["own" "team"] only`},
		{reason: "that of Ambit's own namespace, neither", do: func(c *cluster) { revokeOwn() }, want: "all-of-team team/p", problem: `in namespace "team" only`},
		{reason: "it may be seen again, and was removed meanwhile", do: func(c *cluster) {
			c.remove(policyResource, "own", "p")
			c.grant("own", group, v1alpha1Resource, read)
		}, want: "all-of-own all-of-team team/p", problem: `in namespaces ["own" "team"] only`},
	}, "team", "own")
}

// v1alpha1Resource is how roles name ReconcilePolicies.
const v1alpha1Resource = "reconcilepolicies"

// TestConfigMaps: a policy is there while its key, its label and its object are.
func TestConfigMaps(t *testing.T) {
	playSteps(t, ForConfigMaps, func(c *cluster) {
		c.grant("", "", "configmaps", "list, watch")
		c.createMap("team", "maps", "{a.yaml: a, b.yml: b, notes.txt: c}")
		c.create(mapResource, "team", "{apiVersion: v1, kind: ConfigMap, metadata: {name: plain}, data: {a.yaml: a}}")
	}, []readStep{
		{reason: "keys that are names of YAML files, of ConfigMaps with the label", do: nothing, want: "all-of- team/maps:a.yaml team/maps:b.yml"},
		{reason: "a key vanishes", do: func(c *cluster) { c.patch(mapResource, "team", "maps", `{"data":{"b.yml":null}}`) }, want: "all-of- team/maps:a.yaml"},
		{reason: "all keys do", do: func(c *cluster) { c.patch(mapResource, "team", "maps", `{"data":null}`) }, want: "all-of-"},
		{reason: "one comes back", do: func(c *cluster) { c.patch(mapResource, "team", "maps", `{"data":{"b.yml":"b"}}`) }, want: "all-of- team/maps:b.yml"},
		{reason: "the label goes", do: func(c *cluster) {
			c.patch(mapResource, "team", "maps", `{"metadata":{"labels":{"ambit.dev/policy-source":null}}}`)
		}, want: "all-of-"},
		{reason: "it comes to another one", do: func(c *cluster) {
			c.patch(mapResource, "team", "plain", `{"metadata":{"labels":{"ambit.dev/policy-source":"true"}}}`)
		}, want: "all-of- team/plain:a.yaml"},
		{reason: "any other value is another label", do: func(c *cluster) {
			c.patch(mapResource, "team", "plain", `{"metadata":{"labels":{"ambit.dev/policy-source":"yes"}}}`)
		}, want: "all-of-"},
		{reason: "an object that somebody holds is being deleted: its policies are gone", do: func(c *cluster) {
			c.patch(mapResource, "team", "plain", `{"metadata":{"finalizers":["example.com/held"],"labels":{"ambit.dev/policy-source":"true"}}}`)
			c.remove(mapResource, "team", "plain")
		}, want: "all-of-"},
	})
}

// TestStreams: a stream that ends, is expired or is refused for a while loses no policy, and shows what has changed
// meanwhile; until it has delivered its list nothing counts as gone.
func TestStreams(t *testing.T) {
	unavailable := func(sim.Request) error { return apierrors.NewServiceUnavailable("down") }
	second := "{a.yaml: a}"
	disturb := func(d sim.Delivery) func(*cluster) {
		return func(c *cluster) {
			var done bool
			c.faults.set(func(apiwatch.EventType) sim.Delivery {
				if done {
					return sim.Delivery{}
				}
				done = true
				return d
			}, nil)
		}
	}
	for name, c := range map[string]struct {
		reason string
		faults func(*cluster)
	}{
		"Ends":    {reason: "a connection breaks", faults: disturb(sim.Delivery{End: true})},
		"Expired": {reason: "the API server has forgotten where the stream was", faults: disturb(sim.Delivery{Expire: true})},
		"Late":    {reason: "an event is held up", faults: disturb(sim.Delivery{Lag: patience / 2})},
		"Down": {reason: "the API server is not there for a while", faults: func(c *cluster) {
			c.faults.set(func(apiwatch.EventType) sim.Delivery { return sim.Delivery{End: true} }, unavailable)
			time.AfterFunc(patience/2, func() { c.faults.set(nil, nil) })
		}},
		"Compacted": {reason: "nothing can be resumed", faults: func(c *cluster) { disturb(sim.Delivery{End: true})(c); c.server.Compact() }},
	} {
		t.Run(name, func(t *testing.T) {
			playSteps(t, ForConfigMaps, func(c *cluster) {
				c.grant("", "", "configmaps", "list, watch")
				c.createMap("team", "first", "{a.yaml: a}")
				c.createMap("team", "gone", "{a.yaml: a}")
			}, []readStep{
				{reason: "nothing is disturbed", do: nothing, want: "all-of- team/first:a.yaml team/gone:a.yaml"},
				{reason: c.reason, do: func(s *cluster) {
					c.faults(s)
					s.createMap("team", "second", second)
					s.remove(mapResource, "team", "gone")
				}, want: "all-of- team/first:a.yaml team/second:a.yaml"},
			})
		})
	}
}

// TestFirstList: before the first list is there nothing is known of any namespace, whether the API server is slow, down, or
// does not say what may be read; a policy is then not taken for removed.
func TestFirstList(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		refuse func(sim.Request) error
	}{
		"Down":    {reason: "nothing is answered", refuse: func(sim.Request) error { return apierrors.NewServiceUnavailable("down") }},
		"Lists":   {reason: "lists are not answered", refuse: refuseVerb("list", "watch")},
		"Reviews": {reason: "it is not known what may be read", refuse: refuseVerb("create")},
	} {
		t.Run(name, func(t *testing.T) {
			playSteps(t, ForConfigMaps, func(s *cluster) {
				s.grant("", "", "configmaps", "list, watch")
				s.createMap("team", "maps", "{a.yaml: a}")
				s.faults.set(nil, c.refuse)
			}, []readStep{
				{reason: c.reason, do: nothing, want: "unread"},
				{reason: "it is over", do: func(s *cluster) { s.faults.set(nil, nil) }, want: "all-of- team/maps:a.yaml"},
			})
		})
	}
}

func refuseVerb(verbs ...string) func(sim.Request) error {
	return func(r sim.Request) error {
		for _, verb := range verbs {
			if r.Verb == verb {
				return apierrors.NewServiceUnavailable("down")
			}
		}
		return nil
	}
}

// TestDefinition: without the CustomResourceDefinition there is no policy to wait for, it is said what is missing, and when it
// is installed policies are read; when it goes, they have not been removed one by one.
func TestDefinition(t *testing.T) {
	playSteps(t, ForCustomResources, func(c *cluster) {
		c.grant("", "ambit.dev", v1alpha1Resource, "list, watch")
		c.remove(crdResource, "", "reconcilepolicies.ambit.dev")
		c.server.Collect()
	}, []readStep{
		{reason: "it is not installed", do: nothing, want: "", problem: "the API server does not serve reconcilepolicies.ambit.dev: its CustomResourceDefinition is not installed"},
		{reason: "it is", do: func(c *cluster) { c.install(); c.createPolicy("team", "p v1") }, want: "all-of- team/p"},
		{reason: "it goes, and nobody has deleted a policy", do: func(c *cluster) {
			c.remove(crdResource, "", "reconcilepolicies.ambit.dev")
			for c.server.Collect() {
			}
		}, want: "", problem: "does not serve"},
	})
}
