package fairqueue

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// TestWaits: of the waits of a key only the last counts, and none when a worker has had it since.
func TestWaits(t *testing.T) {
	key := keyOf("a", "1")
	cases := map[string]struct {
		reason string
		do     func(add func(seconds int), work func())
		want   []time.Duration // when a worker gets the key
	}{
		"Once":    {reason: "a wait ends", do: func(add func(int), _ func()) { add(3) }, want: []time.Duration{3 * time.Second}},
		"Now":     {reason: "no wait is no wait", do: func(add func(int), _ func()) { add(0) }, want: []time.Duration{0}},
		"Sooner":  {reason: "the later one is forgotten", do: func(add func(int), _ func()) { add(3); add(1) }, want: []time.Duration{time.Second}},
		"Later":   {reason: "the sooner one is forgotten", do: func(add func(int), _ func()) { add(1); add(3) }, want: []time.Duration{3 * time.Second}},
		"Much":    {reason: "the last of three", do: func(add func(int), _ func()) { add(2); add(5); add(4) }, want: []time.Duration{4 * time.Second}},
		"Worked":  {reason: "a worker that had the key meanwhile did not ask for another wait", do: func(add func(int), work func()) { add(3); work() }, want: []time.Duration{0}},
		"Renewed": {reason: "and if it did, that one counts", do: func(add func(int), work func()) { add(3); work(); add(5) }, want: []time.Duration{0, 5 * time.Second}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				queue := New("", ErrorBackoff())
				began := time.Now()
				var got []time.Duration
				take := func() bool {
					key, shutdown := queue.Get()
					if !shutdown {
						got = append(got, time.Since(began))
						queue.Done(key)
					}
					return !shutdown
				}
				tc.do(func(seconds int) { queue.AddAfter(key, time.Duration(seconds)*time.Second) }, func() {
					queue.Add(key)
					take()
				})
				go func() {
					for take() {
					}
				}()
				time.Sleep(time.Minute)
				queue.ShutDown()
				synctest.Wait()
				if diff := cmp.Diff(tc.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			})
		})
	}
}
