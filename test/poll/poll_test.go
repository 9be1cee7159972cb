package poll_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/test/poll"
)

func TestUntil(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var looks []time.Duration
		err := poll.Until(t.Context(), time.Minute, func(context.Context) (bool, error) {
			looks = append(looks, time.Since(began).Truncate(time.Millisecond))
			return len(looks) == 11, nil
		})
		ms := time.Millisecond
		want := []time.Duration{0, 10 * ms, 25 * ms, 47 * ms, 81 * ms, 131 * ms, 207 * ms, 307 * ms, 407 * ms, 507 * ms, 607 * ms}
		if err != nil || !slices.Equal(looks, want) {
			t.Errorf("looked after %v, want %v: %v", looks, want, err)
		}
	})
}

func TestUntilEnds(t *testing.T) {
	failed := errors.New("failed")
	for name, is := range map[string]struct {
		check error
		took  time.Duration
		want  error
	}{
		"the check fails":   {check: failed, want: failed},
		"the limit is over": {took: time.Minute, want: context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				err := poll.Until(t.Context(), time.Minute, func(context.Context) (bool, error) { return false, is.check })
				if took := time.Since(began); !errors.Is(err, is.want) || took != is.took {
					t.Errorf("%v after %v, want %v after %v", err, took, is.want, is.took)
				}
			})
		})
	}
}

func TestUntilCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	err := poll.Until(ctx, time.Minute, func(context.Context) (bool, error) { cancel(); return false, nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that of the context", err)
	}
}
