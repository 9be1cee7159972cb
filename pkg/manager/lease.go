package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// errLeaseLost ends a process whose Lease another has.
var errLeaseLost = errors.New("leader election lost")

// errLeaseOver refuses a write: it is not known whether another holds the Lease by now.
var errLeaseOver = errors.New("the Lease was not renewed in time: nothing is written until it is")

// lease is the Lease that replicas hold in turn, and sees to it that no two of them write.
// client-go tries to get a Lease back for leaseDeadline, which is right for one that cannot
// be read; that another has it ends this process at once. And a process that stood still
// for longer than the Lease holds, as one on a machine that is moved, must not go on with
// what it was about to write before it has looked.
//
// Get, Create and Update are for one goroutine at a time, isOver is for any.
type lease struct {
	resourcelock.Interface
	lost    context.CancelCauseFunc // called with errLeaseLost
	now     func() clockReading
	held    bool
	renewed atomic.Pointer[clockReading] // when the last renewal was sent that came through; nil: none was
}

var _ resourcelock.Interface = (*lease)(nil)

// Get implements resourcelock.Interface.
func (l *lease) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.held && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.lost(fmt.Errorf("%w: Lease %s is held by %q", errLeaseLost, l.Describe(), record.HolderIdentity))
	}
	return record, raw, err
}

// Create implements resourcelock.Interface.
func (l *lease) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renewWithin(record, func() error { return l.Interface.Create(ctx, record) })
}

// Update implements resourcelock.Interface.
func (l *lease) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.renewWithin(record, func() error { return l.Interface.Update(ctx, record) })
}

// renewWithin sends a record. One without a holder gives the Lease back.
func (l *lease) renewWithin(record resourcelock.LeaderElectionRecord, send func() error) error {
	sent := l.now()
	if err := send(); err != nil {
		return err
	}
	if l.held = record.HolderIdentity == l.Identity(); l.held {
		l.renewed.Store(&sent)
	}
	return nil
}

// guarded sends nothing while another may hold the Lease. It is for writes.
type guarded struct {
	http.RoundTripper
	lease *lease
}

// RoundTrip implements http.RoundTripper.
func (g guarded) RoundTrip(request *http.Request) (*http.Response, error) {
	err := g.lease.isOver()
	if err == nil {
		return g.RoundTripper.RoundTrip(request)
	}
	if request.Body != nil {
		request.Body.Close()
	}
	return nil, err
}

// isOver returns errLeaseOver if another may hold the Lease by now.
func (l *lease) isOver() error {
	if at := l.renewed.Load(); at != nil && at.ageAt(l.now()) >= leaseDuration {
		return errLeaseOver
	}
	return nil
}

// clockReading is what the clocks say at a moment.
type clockReading struct {
	wall      time.Time
	monotonic time.Duration // since a moment that is the same for all instants
}

// readClocks returns a function that reads both clocks.
func readClocks() func() clockReading {
	start := time.Now()
	return func() clockReading {
		now := time.Now()
		return clockReading{wall: now.Round(0), monotonic: now.Sub(start)}
	}
}

// ageAt returns how much time has passed until now: the larger of what both clocks say. The
// monotonic clock may stand still while the machine does, and the wall clock may be set back.
func (i clockReading) ageAt(now clockReading) time.Duration {
	return max(now.wall.Sub(i.wall), now.monotonic-i.monotonic)
}
