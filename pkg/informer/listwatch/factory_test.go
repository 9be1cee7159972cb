package listwatch

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/utils/clock"
)

// TestOutageAfterOutage: the API server goes away again right after it has come back. The
// answer that is too early to announce the recovery leaves that to the next one.
func TestOutageAfterOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		announced := 0
		f := NewFactory(Options{Clock: clock.RealClock{}, Opening: 1, Reopens: 1, OnRecovery: func() { announced++ }})
		check := func(when string, want int) {
			t.Helper()
			if announced != want {
				t.Errorf("%s: announced %d times, want %d", when, announced, want)
			}
		}
		f.noteReached()
		check("without an outage", 0)
		f.noteUnreachable()
		f.noteReached()
		check("after an outage", 1)
		f.noteReached()
		check("without another one", 1)
		f.noteUnreachable()
		f.noteReached()
		check("after another one, too early", 1)
		time.Sleep(time.Second)
		f.noteReached()
		check("by the next answer", 2)
	})
}

func TestSetReauthorize(t *testing.T) {
	f := NewFactory(Options{Opening: 1, Reopens: 1})
	for i, step := range []struct{ on, changed bool }{{false, false}, {true, true}, {true, false}, {false, true}} {
		if got := f.SetReauthorize(step.on); got != step.changed {
			t.Errorf("step %d: changed is %t, want %t", i, got, step.changed)
		}
	}
}

func TestSemaphore(t *testing.T) {
	s := make(semaphore, 1)
	release, err := s.acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cause := errors.New("over")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	if _, err := s.acquire(ctx); !errors.Is(err, cause) {
		t.Errorf("without a free slot: %v, want %v", err, cause)
	}
	release()
	release()
	if len(s) != 0 {
		t.Error("a slot is taken that was given back")
	}
}
