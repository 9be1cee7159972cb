package sim_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
)

// How much Ambit asks for while nothing happens, over an hour of virtual time.

// quiet is how long it is looked on.
const quiet = time.Hour

// What a process that is denied something may ask for.
const (
	blindPerMinute     = 16 // in any minute, for one namespace
	triggeredPerMinute = 2  // the same, where RBAC objects are watched
	perSecond          = 20 // in any second, for all namespaces
)

// requestLog is Faults that disturb nothing, and note when who asked for what.
type requestLog struct {
	mu   sync.Mutex
	list []sentRequest
}

type sentRequest struct {
	sim.Request
	at      time.Time
	refused bool
}

func (l *requestLog) Before(context.Context, sim.Request) error { return nil }

func (l *requestLog) After(_ context.Context, r sim.Request, answer error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, sentRequest{r, time.Now(), answer != nil})
	return answer
}

func (l *requestLog) Stream(sim.Request) sim.Stream { return nil }

// since are the requests of a user from a time on that are wanted.
func (l *requestLog) since(from time.Time, user string, wanted func(sentRequest) bool) (list []sentRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, r := range l.list {
		if r.User == user && !r.at.Before(from) && wanted(r) {
			list = append(list, r)
		}
	}
	return list
}

// isQuestion says whether a request asks for anything. A watch that is accepted is a stream
// of what is permitted, opened again at its timeout.
func isQuestion(r sentRequest) bool { return r.Verb != "watch" || r.refused }

// isChange says whether a request may change something.
func isChange(r sentRequest) bool {
	return slices.Contains([]string{"create", "update", "patch", "delete"}, r.Verb) && r.Resource.Group != "authorization.k8s.io"
}

// mostIn is the largest number of requests in any window of that length.
func mostIn(window time.Duration, list []sentRequest) (most int) {
	for i := range list {
		n := 0
		for n < len(list)-i && list[i+n].at.Sub(list[i].at) < window {
			n++
		}
		most = max(most, n)
	}
	return most
}

// TestQuiet: with 200 owners at rest Ambit asks for nothing in an hour; started again, it
// writes nothing.
func TestQuiet(t *testing.T) {
	const owners = 200
	synctest.Test(t, func(t *testing.T) {
		log := &requestLog{}
		s := newQuietStage(t, log)
		s.grantEverywhere("triggers", `[{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings, clusterroles, clusterrolebindings], verbs: [list, watch]}]`)
		s.grantEverywhere("owners", ownerRules)
		for _, namespace := range []string{"one", "two"} {
			s.namespace(namespace)
			s.grant(namespace)
			for i := range owners / 2 {
				s.create("memcacheds", namespace, fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: cache-%d}, spec: {size: 1}}", i))
			}
		}
		s.run()
		s.until("all Deployments are there", func() bool { return len(log.since(time.Time{}, ambitUser, isCreateOfDeployment)) == owners })
		time.Sleep(2 * time.Minute)
		rest := time.Now()
		time.Sleep(quiet)
		s.none("at rest", log.since(rest, ambitUser, isQuestion))
		s.stop()
		again := time.Now()
		s.run()
		time.Sleep(quiet)
		s.none("after a restart", log.since(again, ambitUser, isChange))
		s.none("at rest after a restart", log.since(again.Add(2*time.Minute), ambitUser, isQuestion))
		s.stop()
	})
}

func isCreateOfDeployment(r sentRequest) bool {
	return isChange(r) && r.Verb == "create" && r.Resource.Resource == "deployments" && !r.refused
}

// none fails the test for each request, but tells no more than ten.
func (s *stage) none(when string, list []sentRequest) {
	s.Helper()
	for _, r := range list[:min(10, len(list))] {
		s.Errorf("a request %s: %s %s %s/%s", when, r.Verb, r.Resource.Resource, r.Namespace, r.Name)
	}
	if len(list) > 10 {
		s.Errorf("%d more requests %s", len(list)-10, when)
	}
}

const ownerRules = `[{apiGroups: [cache.example.com], resources: [memcacheds], verbs: [get, list, watch]}, {apiGroups: [cache.example.com], resources: [memcacheds/status], verbs: [patch]}]`

func newQuietStage(t *testing.T, log *requestLog) *stage {
	s := &stage{T: t, counts: &counts{all: map[string]int{}}, server: sim.New(sim.Options{Seed: 7, AuthorizerLag: 10 * time.Millisecond, Faults: log})}
	s.admin = s.server.As(sim.Admin).Dynamic()
	s.create("crds", "", read(t, "../../examples/memcached/crd.yaml"))
	return s
}

func (s *stage) namespace(name string) {
	s.create("namespaces", "", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", name))
}

// deniedRow is a process that is denied what it needs, with an identity of its own.
type deniedRow struct {
	user       string
	namespaces int
	// seen is in how many of them it may see owners, which then say what is missing.
	seen int
	// triggers: it may watch RBAC objects.
	triggers bool
	window   time.Duration
}

// TestDeniedIsQuiet: processes are denied what they need, most for an hour. All of their requests
// count but the streams of what is permitted. Quiet is not dead: what is granted in the end
// is noticed. With the race detector TestQuiet stands for it.
func TestDeniedIsQuiet(t *testing.T) {
	raced.Skip(t)
	for _, row := range []deniedRow{
		{user: "sees-owners", namespaces: 1, seen: 1, triggers: true, window: quiet},
		{user: "sees-nothing", namespaces: 1, triggers: true, window: quiet},
		{user: "blind", namespaces: 1, seen: 1, window: quiet},
		{user: "blind-sees-nothing", namespaces: 1, window: quiet},
		{user: "blind-many", namespaces: 300, seen: 150, window: 3 * time.Minute},
	} {
		t.Run(row.user, func(t *testing.T) { synctest.Test(t, row.play) })
	}
}

func (row deniedRow) play(t *testing.T) {
	log := &requestLog{}
	s := newQuietStage(t, log)
	namespaces := row.prepare(s)
	time.Sleep(time.Second) // the authorizer knows all of it
	ctx, cancel := context.WithCancel(t.Context())
	var controllers sync.WaitGroup
	controllers.Go(func() { s.server.Run(ctx) })
	stop := startAmbit(t, s.server, row.user, controller.Options{Programs: memcachedOnly(t), Namespaces: namespaces})
	time.Sleep(2 * time.Minute)
	rest := time.Now()
	time.Sleep(row.window)
	row.check(t, log.since(rest, row.user, isQuestion))
	late := namespaces[0]
	s.bindAs(row.user, late, "everything")
	s.until("the late grant is noticed", func() bool {
		d, err := s.admin.Resource(resources()["deployments"]).Namespace(late).List(t.Context(), metav1.ListOptions{})
		return err == nil && len(d.Items) == 1
	})
	stop()
	cancel()
	controllers.Wait()
}

// prepare makes the namespaces of the row, with an owner each.
func (row deniedRow) prepare(s *stage) (names []string) {
	role := func(name, rules string) {
		s.create("clusterroles", "", fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: %s}, rules: %s}", name, rules))
	}
	role("owners", ownerRules)
	role("everything", strings.TrimSuffix(ownerRules, "]")+`, {apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, patch, delete]}, {apiGroups: [""], resources: [pods], verbs: [list, watch]}]`)
	if row.triggers {
		role("triggers", `[{apiGroups: [rbac.authorization.k8s.io], resources: [roles, rolebindings, clusterroles, clusterrolebindings], verbs: [list, watch]}]`)
		s.create("clusterrolebindings", "", bindingOf(row.user, "ClusterRoleBinding", "triggers"))
	}
	for i := range row.namespaces {
		name := fmt.Sprintf("ns-%d", i)
		names = append(names, name)
		s.namespace(name)
		if i < row.seen {
			s.bindAs(row.user, name, "owners")
		}
		s.owner(name, 1)
	}
	return names
}

func (s *stage) bindAs(user, namespace, role string) {
	s.create("rolebindings", namespace, bindingOf(user, "RoleBinding", role))
}

func bindingOf(user, kind, role string) string {
	return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: %s}, roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: %s}, subjects: [{kind: User, name: %s}]}", kind, role, role, user)
}

// check holds what was asked for against the limits.
func (row deniedRow) check(t *testing.T, list []sentRequest) {
	in := map[schema.GroupResource]int{}
	for _, r := range list {
		in[r.Resource.GroupResource()]++
	}
	t.Logf("in %s: %d requests: %v; at most %d in a minute, %d in a second", row.window, len(list), in, mostIn(time.Minute, list), mostIn(time.Second, list))
	isElsewhere := func(r sentRequest) bool { return r.Resource.Group == "authorization.k8s.io" && r.About != "ns-0" }
	isHere := func(r sentRequest) bool { return !isElsewhere(r) }
	everywhere, inNamespace := slices.DeleteFunc(slices.Clone(list), isHere), slices.DeleteFunc(slices.Clone(list), isElsewhere)
	switch {
	case row.namespaces > 1:
		atMost(t, "in a second", perSecond, mostIn(time.Second, list))
		if len(list) < row.namespaces {
			t.Errorf("only %d requests for %d denied namespaces: a grant would not be noticed", len(list), row.namespaces)
		}
	case row.triggers:
		atMost(t, "in a minute", triggeredPerMinute, mostIn(time.Minute, list))
	default:
		atMost(t, "in a minute about the namespace", blindPerMinute, mostIn(time.Minute, inNamespace))
		atMost(t, "in a minute about all namespaces", blindPerMinute, mostIn(time.Minute, everywhere))
	}
}

func atMost(t *testing.T, what string, most, found int) {
	t.Helper()
	if found > most {
		t.Errorf("%d requests %s, may be %d", found, what, most)
	}
}
