package e2e

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/cluster"
)

// TestManagerPaused: a leader stands still, as on a machine that is moved, for longer than
// its Lease holds. The other replica takes over. When the first one goes on it has all the
// news at once, and writes none of what it would make of them: it ends.
func TestManagerPaused(t *testing.T) {
	t.Parallel()
	p := newPair(t, "lease")
	p.start(0)
	p.ready(0, "ready: policies: 1")
	p.start(1)
	p.ready(1, "ready: waiting for leadership")
	p.makeOwner("before")
	p.served("before")
	// What is on its way to the API server when the process stands still gets there all the same.
	p.settledSince(p.control.Audit().Mark(), func(r cluster.Request) bool {
		return r.Resource == "leases" || r.Namespace != p.namespace // another story has the same users
	})
	paused := p.replicas[0]
	p.signal(paused, syscall.SIGSTOP)
	p.makeOwner("meanwhile")
	p.served("meanwhile")
	mark := p.control.Audit().Mark()
	for i := range 20 {
		p.makeOwner(fmt.Sprintf("news-%d", i))
	}
	p.signal(paused, syscall.SIGCONT)
	err := paused.cmd.Wait()
	if said := paused.out.String(); err == nil || !strings.Contains(said, "leader election lost") {
		t.Errorf("who has lost the Lease ends with %v, and says:\n%s", err, said)
	}
	p.served("news-19")
	for _, r := range p.writes(mark) {
		if r.User == p.userOf(0) {
			t.Errorf("who has lost the Lease writes: %s %s (%d)", r.Verb, r.URI, r.Code)
		}
	}
}

// served waits until an owner has both of its children.
func (p *pair) served(owner string) {
	p.t.Helper()
	p.eventually("owner "+owner+" is served", func(ctx context.Context) error {
		_, err := p.typed.CoreV1().ConfigMaps(p.namespace).Get(ctx, owner+"-second", metav1.GetOptions{})
		return err
	})
}

func (p *pair) signal(r *replicaProcess, signal syscall.Signal) {
	p.t.Helper()
	if err := r.cmd.Process.Signal(signal); err != nil {
		p.t.Fatal(err)
	}
}
