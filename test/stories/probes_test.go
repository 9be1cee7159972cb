package stories

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/bench/quantile"
	"github.com/ambit-dev/ambit/test/cluster"
)

// What a denied process may ask for. See TestDeniedIsQuiet for what counts.
const (
	probesWindow    = 5 * time.Minute
	probesBlind     = 16 // in any minute, for one namespace
	probesTriggered = 2  // the same, where RBAC objects are watched
	probesCeiling   = 20 // in any second, for all namespaces
	probesMany      = 300
)

// TestDeniedIsQuiet: five processes are denied what they need for five minutes,
// at the same time, each with an identity of its own. What they ask for is read
// from the audit log.
//
// All requests of the identity count, of whatever kind and answer, but one kind:
// a watch that the API server accepts is no question about what is denied, it is
// a stream of what is permitted (in "owners seen" those of the owners), opened
// again at its timeout; they are printed. Where nothing is granted, there are none.
//
// A review does not say in its URL which namespace it is about, so the identities
// that are counted by the minute have one namespace each. What is asked about all
// namespaces (may RBAC objects be watched?) is the place "", which is counted for
// itself: it is asked by access reviews, a namespace by rules reviews. With RBAC
// objects watchable nothing is denied there, and all requests count together.
//
// It has a control plane of its own: in a shared one the ClusterRoleBindings of
// other stories are hints to look anew everywhere.
func TestDeniedIsQuiet(t *testing.T) {
	t.Parallel()
	users := map[string][]string{"probes": nil, "probes-nothing": nil, "probes-blind": nil, "probes-blind-nothing": nil, "probes-many": nil}
	c, err := cluster.Start(t.Context(), cluster.Options{
		Audit: true, Users: users, Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	owners := rightsOn("memcacheds", "memcacheds/status")
	rows := []*probes{
		{name: "RBAC watchable, owners seen", user: "probes", rules: [][]rbacv1.PolicyRule{owners}, watchable: true},
		{name: "RBAC watchable, nothing granted", user: "probes-nothing", rules: [][]rbacv1.PolicyRule{nil}, watchable: true},
		{name: "blind, owners seen", user: "probes-blind", rules: [][]rbacv1.PolicyRule{owners}},
		{name: "blind, nothing granted", user: "probes-blind-nothing", rules: [][]rbacv1.PolicyRule{nil}},
		{name: "blind, 300 namespaces", user: "probes-many", rules: slices.Repeat([][]rbacv1.PolicyRule{owners, nil}, probesMany/2)},
	}
	// What is made for one row is a hint for the others, so the window begins when
	// all are denied.
	for _, row := range rows {
		row.begin(t, c)
	}
	for _, row := range rows {
		row.denied()
	}
	mark := c.Audit().Mark()
	rows[0].w.patiently(probesWindow)
	end := time.Now()
	rows[0].w.patiently(time.Second) // lines of the log may be a little late
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) { row.check(t, mark, end) })
	}
	for _, row := range rows { // quiet is not dead: what is granted now is noticed
		row.granted = time.Now()
		row.w.flapAllow(row.namespaces[0], "late", row.user, memcachedRights()...)
	}
	for _, row := range rows {
		row.served()
	}
}

// probes is one process.
type probes struct {
	name, user string
	rules      [][]rbacv1.PolicyRule // of each namespace
	watchable  bool                  // RBAC objects are

	w          *world
	namespaces []string
	granted    time.Time // all rights, in the first namespace
}

func (p *probes) begin(t *testing.T, c *cluster.Cluster) {
	p.w = newWorldOn(t, c, p.user)
	for _, rules := range p.rules {
		namespace := p.w.namespace(rules...)
		p.namespaces = append(p.namespaces, namespace)
		p.w.createOwner(namespace, "cache", 1)
	}
	if p.watchable {
		p.w.flapSeeRBAC()
	}
	p.w.launch(c.User(p.user), p.namespaces, memcached(t))
}

// denied waits until each namespace was found denied: its owner says so, or,
// where Ambit may not even see that, it was reviewed.
func (p *probes) denied() {
	p.w.t.Helper()
	seen := 0
	for i, namespace := range p.namespaces {
		if p.rules[i] != nil {
			seen++
			p.w.condition(namespace, "cache", v1alpha1.ConditionPermitted, "False", v1alpha1.ReasonForbidden)
		}
	}
	p.w.eventually(fmt.Sprintf("%s: all namespaces are reviewed", p.name), func(context.Context) error {
		requests, err := p.w.control.Audit().Since(cluster.Mark{}, p.user)
		if err != nil {
			return err
		}
		n := len(slices.DeleteFunc(requests, func(r cluster.Request) bool { return r.Resource != "selfsubjectrulesreviews" }))
		if n < len(p.namespaces) {
			return fmt.Errorf("%d of %d", n, len(p.namespaces))
		}
		return nil
	})
	p.w.t.Logf("%s: denied in %d namespaces, in %d of them owners say so", p.name, len(p.namespaces), seen)
}

func (p *probes) check(t *testing.T, from cluster.Mark, to time.Time) {
	everywhere, inNamespace, accepted := p.requests(t, from, to)
	all := slices.SortedFunc(slices.Values(slices.Concat(everywhere, inNamespace)), time.Time.Compare)
	t.Logf("in %s: %d requests about namespaces, %d about all namespaces; %d accepted watches beside", probesWindow, len(inNamespace), len(everywhere), accepted)
	perMinute := func(what string, times []time.Time, most int) {
		n := inAny(time.Minute, times)
		t.Logf("%s: at most %d requests in any minute", what, n)
		if n > most {
			t.Errorf("%s: %d requests in a minute, may be %d: %s", what, n, most, spread(times))
		}
	}
	switch {
	case len(p.namespaces) > 1:
		n := inAny(time.Second, all)
		t.Logf("at most %d requests in any second", n)
		if n > probesCeiling {
			t.Errorf("%d requests in a second, may be %d", n, probesCeiling)
		}
		if len(all) < len(p.namespaces) {
			t.Errorf("only %d requests for %d denied namespaces: a grant would not be noticed", len(all), len(p.namespaces))
		}
	case p.watchable:
		perMinute("in all", all, probesTriggered)
	default:
		perMinute("for the namespace", inNamespace, probesBlind)
		perMinute("for all namespaces", everywhere, probesBlind)
	}
}

// requests returns when the API server received the requests about all
// namespaces, and about one, and counts the watches that it accepted.
func (p *probes) requests(t *testing.T, from cluster.Mark, to time.Time) (everywhere, inNamespace []time.Time, accepted int) {
	t.Helper()
	requests, err := p.w.control.Audit().Since(from, p.user)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, r := range requests {
		switch {
		case r.Time.After(to):
			continue
		case r.IsWatch() && r.Code < 300:
			if r.IsWatchOpened() {
				accepted++
			}
			continue
		case r.IsWatch() && !r.IsWatchClosed():
			continue // a refused watch has a line for its end, too
		case r.Resource == "selfsubjectaccessreviews":
			everywhere = append(everywhere, r.Time)
		default:
			inNamespace = append(inNamespace, r.Time)
		}
		kinds[fmt.Sprintf("%s %s %d", r.Verb, r.Resource, r.Code)]++
	}
	t.Logf("requests: %v", kinds)
	slices.SortFunc(everywhere, time.Time.Compare)
	slices.SortFunc(inNamespace, time.Time.Compare)
	return everywhere, inNamespace, accepted
}

// inAny returns how many of the times, which are sorted, there are in the fullest
// window of this length, its end not included.
func inAny(window time.Duration, times []time.Time) int {
	most, first := 0, 0
	for i := range times {
		for times[i].Sub(times[first]) >= window {
			first++
		}
		most = max(most, i-first+1)
	}
	return most
}

// spread tells the pauses between the times.
func spread(times []time.Time) string {
	var pauses []float64
	for i := 1; i < len(times); i++ {
		pauses = append(pauses, times[i].Sub(times[i-1]).Seconds())
	}
	return fmt.Sprintf("pauses of %.2f s at least, %.2f in the middle, %.2f at most", quantile.Of(pauses, 0), quantile.Of(pauses, 0.5), quantile.Of(pauses, 1))
}

// served waits until the child is there in the first namespace, where all is
// granted.
func (p *probes) served() {
	p.w.t.Helper()
	p.w.eventually(fmt.Sprintf("%s: the Deployment is made", p.name), func(ctx context.Context) error {
		_, err := p.w.typed.AppsV1().Deployments(p.namespaces[0]).Get(ctx, "cache", metav1.GetOptions{})
		return err
	})
	p.w.t.Logf("%s: at most %s after the grant the Deployment is there", p.name, time.Since(p.granted).Round(time.Millisecond))
}

// TestInAny: the counting that TestDeniedIsQuiet relies on.
func TestInAny(t *testing.T) {
	t.Parallel()
	at := func(seconds string) (times []time.Time) {
		for text := range strings.FieldsSeq(seconds) {
			d, err := time.ParseDuration(text + "s")
			if err != nil {
				t.Fatal(err)
			}
			times = append(times, time.Unix(0, 0).Add(d))
		}
		return times
	}
	for name, tc := range map[string]struct {
		reason string
		times  []time.Time
		want   int
	}{
		"none":     {reason: "no time, no window", want: 0},
		"one":      {reason: "a window holds its beginning", times: at("5"), want: 1},
		"the end":  {reason: "a window does not hold its end", times: at("0 1"), want: 1},
		"within":   {reason: "all of a second", times: at("0 0.999"), want: 2},
		"sliding":  {reason: "a window begins anywhere", times: at("0 0.9 1.1 1.5 3"), want: 3},
		"the same": {reason: "two at once are two", times: at("7 7"), want: 2},
	} {
		t.Run(name, func(t *testing.T) {
			if got := inAny(time.Second, tc.times); got != tc.want {
				t.Errorf("%s: got %d, want %d", tc.reason, got, tc.want)
			}
		})
	}
}
