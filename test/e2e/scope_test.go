package e2e

import (
	"context"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestScopeFollowsRights: the ClusterRoleBinding for owners is replaced by
// RoleBindings, and these by it, while owners are made and resized. The streams
// change over, every change is served, and none of them twice. It sees owners
// cluster-wide and so runs alone.
func TestScopeFollowsRights(t *testing.T) {
	newScope(t).changeOver()
}

type scope struct {
	*world
	namespaces []string
	serving    []string // namespaces with owners
}

func newScope(t *testing.T) *scope {
	s := &scope{world: newWorld(t, "scope")}
	s.alone()
	s.grantEverywhere("triggers", rightsToWatchRBAC())
	s.grantEverywhere("namespaces", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: []string{"list", "watch"}})
	s.grantEverywhere("owners", ownerRights()...)
	for range 3 {
		s.namespaces = append(s.namespaces, s.namespace(childRights()...))
	}
	s.serving = s.namespaces
	for _, namespace := range s.namespaces {
		s.decided(namespace, true, memcachedRights()...)
	}
	return s
}

func ownerRights() []rbacv1.PolicyRule { return rightsOn("memcacheds", "memcacheds/status") }

// changeOver goes to and fro twice.
func (s *scope) changeOver() {
	mark := s.control.Audit().Mark()
	s.run(nil, memcached(s.t))
	var all []*traffic
	for _, namespace := range s.namespaces {
		all = append(all, s.traffic(namespace))
	}
	s.clusterWide()
	ctx, cancel := context.WithCancel(s.t.Context())
	defer cancel()
	var running sync.WaitGroup
	for _, t := range all {
		running.Go(func() { t.run(ctx) })
	}
	for round := range 2 {
		s.toNamespaces(round%2 == 1)
		s.byNamespace()
		s.fromNamespaces(round%2 == 1)
		s.clusterWide()
	}
	cancel()
	running.Wait()
	for _, t := range all {
		t.check(mark)
	}
	s.unseen(all[0])
}

// unseen: while nobody may see owners, all streams of theirs are given back. What
// has changed meanwhile is found when they may be seen again.
func (s *scope) unseen(t *traffic) {
	s.t.Helper()
	s.revokeEverywhere("owners")
	s.serving = nil
	s.layout("namespaces *")
	s.empty(2)
	t.sizes["cache-0"] = 2
	s.resize(t.namespace, "cache-0", 2)
	for _, namespace := range s.namespaces {
		s.bindTo(s.user+"-owners", "ClusterRole", namespace)
	}
	s.serving = s.namespaces[:2]
	s.byNamespace()
	if err := t.served(s.t.Context(), "cache-0"); err != nil {
		s.t.Error(err)
	}
	s.empty(0)
	s.empty(1)
}

// toNamespaces replaces the ClusterRoleBinding by RoleBindings, with a moment in
// which there is neither, or both.
func (s *scope) toNamespaces(gap bool) {
	s.t.Helper()
	if gap {
		s.revokeEverywhere("owners")
	}
	for _, namespace := range s.namespaces {
		s.bindTo(s.user+"-owners", "ClusterRole", namespace)
	}
	if !gap {
		s.revokeEverywhere("owners")
	}
}

// fromNamespaces is the other way round.
func (s *scope) fromNamespaces(gap bool) {
	s.t.Helper()
	if !gap {
		s.grantEverywhere("owners", ownerRights()...)
	}
	for _, namespace := range s.namespaces {
		s.unbindFrom(s.user+"-owners", namespace)
	}
	if gap {
		s.grantEverywhere("owners", ownerRights()...)
	}
}

// empty deletes all owners of a namespace.
func (s *scope) empty(i int) {
	s.t.Helper()
	err := s.objects.Resource(memcacheds).Namespace(s.namespaces[i]).DeleteCollection(s.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
}

// clusterWide and byNamespace wait until exactly the streams of one or the other
// are open.
func (s *scope) clusterWide() { s.t.Helper(); s.layout("memcacheds *") }

func (s *scope) byNamespace() {
	s.t.Helper()
	want := []string{"namespaces *"}
	for _, namespace := range s.namespaces {
		want = append(want, "memcacheds "+namespace)
	}
	s.layout(want...)
}

func (s *scope) layout(want ...string) {
	s.t.Helper()
	want = append(want, "roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *")
	for _, namespace := range s.serving {
		want = append(want, "deployments "+namespace, "pods "+namespace)
	}
	s.streamsAre(want...)
}
