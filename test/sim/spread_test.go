package sim_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestSpread: while all is permitted in all namespaces, the Deployments of owners in a few of them are watched
// one by one, and those of more owners together, until there are few again. Nothing is written again for that,
// nor is anything missed. When the rights in all namespaces go, each owner goes on that has its own.
func TestSpread(t *testing.T) {
	for _, watchable := range []bool{true, false} {
		t.Run(fmt.Sprintf("RBACObjectsWatchable=%t", watchable), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newStage(t, watchable).playSpread() })
		})
	}
}

// playSpread has owners come and go, and then the rights.
func (s *stage) playSpread() {
	s.grantEverywhere("children", `[{apiGroups: [apps], resources: [deployments], verbs: [get, list, watch, create, patch, delete]}, {apiGroups: [""], resources: [pods], verbs: [list, watch]}]`)
	s.revoke("two") // nothing is left there when the rights in all namespaces go
	namespaces := []string{"one", "two", "three", "four", "five"}
	for _, namespace := range namespaces[2:] {
		s.create("namespaces", "", fmt.Sprintf("{apiVersion: v1, kind: Namespace, metadata: {name: %s}}", namespace))
	}
	time.Sleep(time.Second) // what is not permitted at the first look is not asked for in all namespaces again
	s.run()
	few, last := namespaces[:4], namespaces[4]
	for _, namespace := range few {
		s.owner(namespace, 2)
		s.ready(namespace, 2)
	}
	s.deploymentsAreWatchedIn(few...)
	s.owner(last, 2)
	s.ready(last, 2)
	s.deploymentsAreWatchedIn("")
	for _, namespace := range namespaces {
		s.resize(namespace, 3)
		s.ready(namespace, 3)
	}
	time.Sleep(time.Minute)
	for verb, want := range map[string]int{"create": 5, "patch": 5, "delete": 0} {
		if got := s.counts.of(verb + " deployments "); got != want {
			s.Errorf("%d times %s of Deployments, want %d", got, verb, want)
		}
	}
	s.delete("memcacheds", last, "cache")
	s.delete("memcacheds", "four", "cache")
	time.Sleep(time.Minute)
	s.deploymentsAreWatchedIn("")
	s.delete("memcacheds", "three", "cache")
	s.deploymentsAreWatchedIn("one", "two")
	for _, namespace := range namespaces[2:] {
		s.until("what was made in "+namespace+" is gone", func() bool { return s.deployment(namespace) == nil && s.read(memcacheds, namespace, "cache") == nil })
		s.owner(namespace, 2)
		s.ready(namespace, 2)
	}
	s.deploymentsAreWatchedIn("")
	s.delete("clusterrolebindings", "", "children")
	s.until("who has no rights says so", func() bool { return condition(s.cache("two"), "Permitted") == "False" })
	s.deploymentsAreWatchedIn("one")
	s.resize("one", 4)
	s.ready("one", 4)
	s.stop()
}

// deploymentsAreWatchedIn waits until Ambit has watches of Deployments in these namespaces, one each, and in no
// other; "" is a watch in all.
func (s *stage) deploymentsAreWatchedIn(want ...string) {
	s.Helper()
	want = slices.Sorted(slices.Values(want))
	var got []string
	s.until(fmt.Sprintf("Deployments are watched in %q", want), func() bool {
		got = nil
		for _, r := range s.server.Watches() {
			if r.User == ambitUser && r.Resource == resources()["deployments"] {
				got = append(got, r.Namespace)
			}
		}
		slices.Sort(got)
		return cmp.Equal(want, got)
	})
}
