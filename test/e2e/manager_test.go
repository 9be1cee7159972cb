package e2e

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// How soon the other replica works, on a machine that has nothing else to do: with -timed.
const managerKilled, managerStopped = 17 * time.Second, 3 * time.Second

// kills is how often TestManagerKills kills the leader, by SIGKILL and SIGTERM in turn; with
// leases that is ten seconds each, nearly all of it waiting for the lease to run out. Plans of
// faults (test/sim) end processes at any request, by the thousand.
var kills = flag.Int("kills", 2, "how often TestManagerKills kills the leader")

// timed: a busy machine can take any time to start a process and to answer, so that `make test`
// waits for the other replica, and only `make soak` says how long that may take.
var timed = flag.Bool("timed", false, "TestManagerKills fails if the other replica takes longer than is promised")

// ownersEachRound is how many owners are made while the leader is killed.
const ownersEachRound = 10

// TestManagerKills: of two replicas the one that works is killed again and again while
// owners are made. The other one takes over (in time, with -timed), no child is made twice, none is left
// out or left behind, and no two of them write at a time.
func TestManagerKills(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"lease", "life"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			p := newPair(t, mode)
			mark := p.control.Audit().Mark()
			p.start(0)
			p.ready(0, "ready: policies: 1")
			leader := 0
			var slowest [2]time.Duration // by signal
			for round := range *kills {
				took := p.round(round, leader)
				slowest[round%2] = max(slowest[round%2], took)
				leader = 1 - leader
			}
			t.Logf("%s: taken over at most %v after SIGKILL, %v after SIGTERM", mode, slowest[0], slowest[1])
			p.complete()
			p.noneTwice(mark)
			p.inTurns(mark)
			p.noOrphans()
		})
	}
}

// round starts the other replica, kills the leader while it works on new owners, and says how
// long it took until the other one had done all for an owner that was made since.
func (p *pair) round(round, leader int) time.Duration {
	p.t.Helper()
	other := 1 - leader
	p.start(other)
	p.ready(other, "ready: waiting for leadership")
	burst := ownersEachRound - 1
	var making sync.WaitGroup
	making.Go(func() {
		for i := range burst {
			p.makeOwner(fmt.Sprintf("owner-%d-%d", round, i))
		}
	})
	// The leader is in the middle of it.
	p.eventually("the leader has begun", func(ctx context.Context) error {
		_, err := p.typed.CoreV1().ConfigMaps(p.namespace).Get(ctx, fmt.Sprintf("owner-%d-%d-first", round, round%burst), metav1.GetOptions{})
		return err
	})
	signal, limit := syscall.SIGKILL, managerKilled
	if round%2 == 1 {
		signal, limit = syscall.SIGTERM, managerStopped
	}
	began := time.Now()
	p.kill(leader, signal)
	p.makeOwner(fmt.Sprintf("owner-%d-%d", round, burst)) // which only the other one can see
	p.served(fmt.Sprintf("owner-%d-%d", round, burst))
	took := time.Since(began)
	if *timed && took > limit {
		p.t.Errorf("round %d: the other replica works %v after %v, want %v", round, took, signal, limit)
	}
	p.ready(other, "ready: policies: 1")
	making.Wait()
	return took
}

// makeOwner makes an owner, also beside the test's own goroutine.
func (p *pair) makeOwner(name string) {
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1)},
	}}
	if _, err := p.objects.Resource(memcacheds).Namespace(p.namespace).Create(p.t.Context(), owner, metav1.CreateOptions{}); err != nil {
		p.t.Errorf("creating owner %q: %v", name, err)
	}
}

// children are the names of all children.
func (p *pair) children() []string {
	p.t.Helper()
	list, err := p.typed.CoreV1().ConfigMaps(p.namespace).List(p.t.Context(), metav1.ListOptions{LabelSelector: v1alpha1.LabelPolicy})
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, item := range list.Items {
		names = append(names, item.Name)
	}
	slices.Sort(names)
	return names
}

func (p *pair) ownerNames() []string {
	p.t.Helper()
	owners, err := p.objects.Resource(memcacheds).Namespace(p.namespace).List(p.t.Context(), metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	var names []string
	for _, owner := range owners.Items {
		names = append(names, owner.GetName())
	}
	return names
}

// complete waits until every owner has its two children, and nobody any other.
func (p *pair) complete() {
	p.t.Helper()
	var want []string
	for _, owner := range p.ownerNames() {
		want = append(want, owner+"-first", owner+"-second")
	}
	if len(want) != 2*ownersEachRound**kills {
		p.t.Errorf("there are %d owners, want %d", len(want)/2, ownersEachRound**kills)
	}
	slices.Sort(want)
	p.eventually("every owner has its children", func(context.Context) error {
		if diff := cmp.Diff(want, p.children()); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// writes are the replicas' writes of children and statuses, by the time they came.
func (p *pair) writes(mark cluster.Mark) []cluster.Request {
	p.t.Helper()
	var found []cluster.Request
	for i := range p.replicas {
		all, err := p.control.Audit().Since(mark, p.userOf(i))
		if err != nil {
			p.t.Fatal(err)
		}
		for _, r := range all {
			if r.IsWrite() && r.Namespace == p.namespace && (r.Resource == "configmaps" && r.Name != "ambit-leader" || r.Resource == "memcacheds") {
				found = append(found, r)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b cluster.Request) int { return a.Time.Compare(b.Time) })
	return found
}

// noneTwice: no child was created twice, whoever did, and none was deleted.
func (p *pair) noneTwice(mark cluster.Mark) {
	p.t.Helper()
	created := map[string]int{}
	for _, r := range p.writes(mark) {
		switch {
		case r.Verb == "create" && r.Code == 201:
			created[r.Name]++
		case r.Verb == "delete":
			p.t.Errorf("%s %s was deleted", r.Resource, r.Name)
		}
	}
	for name, times := range created {
		if times != 1 {
			p.t.Errorf("%s was created %d times", name, times)
		}
	}
	// Of a create whose sender was killed before the answer the log does not say 201.
	if len(created) < (2*ownersEachRound-10)**kills {
		p.t.Errorf("%d children were created, as the audit log has it, want about %d", len(created), 2*ownersEachRound**kills)
	}
}

// inTurns: the writes of one replica do not mix with those of the other. In each round both
// have written.
func (p *pair) inTurns(mark cluster.Mark) {
	p.t.Helper()
	turns, last := 0, ""
	var order []string
	for _, r := range p.writes(mark) {
		if r.User != last {
			turns, last = turns+1, r.User
			order = append(order, fmt.Sprintf("%s from %s", r.User, r.Time.Format(time.StampMilli)))
		}
	}
	if turns != *kills+1 {
		p.t.Errorf("after %d kills the replicas wrote in %d turns:\n%s", *kills, turns, strings.Join(order, "\n"))
	}
}

// noOrphans: when the owners go, so do all children.
func (p *pair) noOrphans() {
	p.t.Helper()
	err := p.objects.Resource(memcacheds).Namespace(p.namespace).DeleteCollection(p.t.Context(), metav1.DeleteOptions{}, metav1.ListOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	p.eventually("no child is left", func(context.Context) error {
		if left := p.children(); len(left) > 0 {
			return fmt.Errorf("%d are left: %v", len(left), left)
		}
		return nil
	})
}
