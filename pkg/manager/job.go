package manager

import (
	"context"
	"sync"

	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
)

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
