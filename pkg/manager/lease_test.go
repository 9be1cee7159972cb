package manager

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// memoryLock is a lock without an API server.
type memoryLock struct {
	resourcelock.Interface
	record resourcelock.LeaderElectionRecord
	err    error
}

func (m *memoryLock) Identity() string { return "me" }
func (m *memoryLock) Describe() string { return "a/ambit" }

func (m *memoryLock) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &m.record, nil, m.err
}

func (m *memoryLock) Create(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	return m.Update(context.Background(), record)
}

func (m *memoryLock) Update(_ context.Context, record resourcelock.LeaderElectionRecord) error {
	if m.err == nil {
		m.record = record
	}
	return m.err
}

// both reads the same from both clocks.
func both(now *time.Time) func() clockReading {
	start := *now
	return func() clockReading { return clockReading{wall: *now, monotonic: now.Sub(start)} }
}

// TestLeaseLost: all is cut off as soon as another is seen to hold the Lease that this
// process held, and for no other reason.
func TestLeaseLost(t *testing.T) {
	away := errors.New("nobody answers")
	for name, test := range map[string]struct {
		reason string
		held   bool
		seen   string
		err    error
		want   bool
	}{
		"taken":     {reason: "another may work already", held: true, seen: "another", want: true},
		"candidate": {reason: "who waits for the Lease sees another hold it", seen: "another"},
		"mine":      {reason: "nothing has changed", held: true, seen: "me"},
		"cleared":   {reason: "nobody holds it, and this process may take it back", held: true},
		"away":      {reason: "an API server that does not answer says nothing", held: true, seen: "another", err: away},
	} {
		t.Run(name, func(t *testing.T) {
			memory := &memoryLock{}
			ctx, lost := context.WithCancelCause(t.Context())
			defer lost(nil)
			l := &lease{Interface: memory, lost: lost, now: readClocks()}
			if test.held {
				if err := l.Create(ctx, resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
					t.Fatal(err)
				}
			}
			memory.record.HolderIdentity, memory.err = test.seen, test.err
			if _, _, err := l.Get(ctx); !errors.Is(err, test.err) {
				t.Fatal(err)
			}
			if got := errors.Is(context.Cause(ctx), errLeaseLost); got != test.want {
				t.Errorf("%s: it is cut off: %v (%v)", test.reason, got, context.Cause(ctx))
			}
		})
	}
}

// TestLeaseOver: nothing is written by a process that did not come to renew its Lease
// until another may have it.
func TestLeaseOver(t *testing.T) {
	now := time.Now()
	memory := &memoryLock{}
	l := &lease{Interface: memory, now: both(&now)}
	over := func(want bool, when string) {
		t.Helper()
		if err := l.isOver(); errors.Is(err, errLeaseOver) != want {
			t.Errorf("%s: %v", when, err)
		}
	}
	over(false, "before there is a Lease, nothing works either")
	renew := func() error {
		return l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"})
	}
	if err := renew(); err != nil {
		t.Fatal(err)
	}
	now = now.Add(leaseDuration - time.Second)
	over(false, "another may not take it yet")
	now = now.Add(time.Second)
	over(true, "another may take it")
	memory.err = errors.New("another was first")
	if err := renew(); !errors.Is(err, memory.err) {
		t.Fatal(err)
	}
	over(true, "a renewal that failed is none")
	memory.err = nil
	if err := renew(); err != nil {
		t.Fatal(err)
	}
	over(false, "it was renewed")
}

// TestLeaseOverClocks: whichever clock goes wrong, the other one tells how old a renewal is.
func TestLeaseOverClocks(t *testing.T) {
	start := time.Now()
	type clocks struct{ wall, monotonic time.Duration }
	for name, test := range map[string]struct {
		reason string
		passed clocks
		want   bool
	}{
		"fresh":   {"both clocks have moved by less than the Lease lasts", clocks{time.Second, time.Second}, false},
		"old":     {"both clocks say that it is over", clocks{leaseDuration, leaseDuration}, true},
		"back":    {"the wall clock was set back by hours while the process stood still", clocks{-3 * time.Hour, leaseDuration}, true},
		"little":  {"the wall clock was set back, and no time has passed", clocks{-3 * time.Hour, time.Second}, false},
		"asleep":  {"the monotonic clock stood still with the machine", clocks{leaseDuration, 0}, true},
		"forward": {"the wall clock was set forward: it cannot be told from a machine that slept", clocks{3 * time.Hour, time.Second}, true},
	} {
		t.Run(name, func(t *testing.T) {
			passed := clocks{}
			now := func() clockReading { return clockReading{wall: start.Add(passed.wall), monotonic: passed.monotonic} }
			l := &lease{Interface: &memoryLock{}, now: now}
			if err := l.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
				t.Fatal(err)
			}
			passed = test.passed
			if err := l.isOver(); errors.Is(err, errLeaseOver) != test.want {
				t.Errorf("%s: %v", test.reason, err)
			}
		})
	}
}

// TestLeaseOverPolicies: then nothing is written on policies either.
func TestLeaseOverPolicies(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"}}`))
	}))
	defer server.Close()
	now := time.Now()
	own, err := connectAs(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	p := &process{own: own, lease: &lease{Interface: &memoryLock{}, now: both(&now)}}
	client, err := p.policyWriter()
	if err != nil {
		t.Fatal(err)
	}
	write := func() error {
		_, err := client.Resource(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}).Namespace("n").
			Patch(t.Context(), "x", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		return err
	}
	if err := p.lease.Update(t.Context(), resourcelock.LeaderElectionRecord{HolderIdentity: "me"}); err != nil {
		t.Fatal(err)
	}
	if err := write(); err != nil || asked != 1 {
		t.Fatalf("while it holds the Lease: %v after %d requests", err, asked)
	}
	now = now.Add(leaseDuration)
	if err := write(); !errors.Is(err, errLeaseOver) || asked != 1 {
		t.Errorf("when another may hold it: %v after %d requests", err, asked)
	}
}
