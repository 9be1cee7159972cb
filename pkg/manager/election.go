package manager

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	coordinationv1 "k8s.io/client-go/kubernetes/typed/coordination/v1"
	corev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/ambit-dev/ambit/pkg/internal/life"
)

const (
	// leaseName is the Lease that replicas hold in turn.
	leaseName = "ambit"
	// lifeName is the ConfigMap that belongs to the leader's Pod.
	lifeName = "ambit-leader"
)

// Times of a Lease. A candidate looks at it every leaseRetry to 2.2 times that. So a
// leader that was killed is followed after leaseDuration and two looks at most, 15.3 s,
// and one that gave the Lease back after one look, 1.7 s. A leader that cannot renew the
// Lease stops leaseDuration-leaseDeadline before another may take it; one that sees it in
// another's hands stops at once (lease).
const (
	leaseDuration = 12 * time.Second
	leaseDeadline = 8 * time.Second
	leaseRetry    = 750 * time.Millisecond
)

// newLock is the Lease. It records no events, so that it needs no right to do so. lost
// cuts everything off.
func (p *process) newLock(lost context.CancelCauseFunc) (*lease, error) {
	config := rest.AddUserAgent(p.own.config, "leader-election")
	config.Timeout = leaseDeadline / 2 // one request that hangs does not cost the Lease
	leases, err := coordinationv1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the client for the Lease: %w", err)
	}
	core, err := corev1.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("preparing the client for the Lease: %w", err)
	}
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("naming this replica: %w", err)
	}
	who := cmp.Or(p.options.Election.Pod, host) + "_" + string(uuid.NewUUID())
	lock, err := resourcelock.New(resourcelock.LeasesResourceLock, p.options.Election.Namespace, leaseName, core, leases,
		resourcelock.ResourceLockConfig{Identity: who})
	if err != nil {
		return nil, fmt.Errorf("preparing the Lease: %w", err)
	}
	return &lease{Interface: lock, lost: lost, now: readClocks()}, nil
}

// becomeLeader waits until this process leads, where that is not for controller-runtime to say.
// The result watches over it: it returns an error when leadership is lost.
func (p *process) becomeLeader(ctx context.Context) (hold func(context.Context) error, err error) {
	if p.options.Election.Mode != ElectionLife {
		return func(context.Context) error { return nil }, nil
	}
	e := p.options.Election
	lock := life.New(life.Options{
		Client: p.own.typed.CoreV1(), Namespace: e.Namespace, Pod: e.Pod, UID: types.UID(e.PodUID), Name: lifeName, Logger: p.log.WithName("leader"),
	})
	if err := lock.AcquireLeadership(ctx); err != nil && ctx.Err() == nil {
		return nil, err
	}
	return lock.HoldLeadership, nil
}

// leaderJob is a part that ends the whole when it ends. controller-runtime starts it, and may
// return before it has ended, when leadership is lost; wait does not. Its error is kept
// here, since controller-runtime drops one that comes while it stops.
type leaderJob struct {
	run  func(context.Context) error
	stop context.CancelFunc // ends the whole
	// early: it runs whether or not this replica leads.
	early bool

	mu  sync.Mutex // held while run runs; guards err
	err error
}

var (
	_ ctrlmanager.Runnable               = (*leaderJob)(nil)
	_ ctrlmanager.LeaderElectionRunnable = (*leaderJob)(nil)
)

// Start implements manager.Runnable.
func (j *leaderJob) Start(ctx context.Context) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	if j.err = j.run(ctx); j.err != nil || !j.early {
		j.stop()
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (j *leaderJob) NeedLeaderElection() bool { return !j.early }

// waitForEnd returns what came of the job, when it has ended. It must not start any more: the
// context that it is given has ended.
func (j *leaderJob) waitForEnd() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.err
}
