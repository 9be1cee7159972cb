package sharedrun

import (
	"context"
	"testing"
	"testing/synctest"
)

// TestGroup: what is run begins with the first user and has ended with the last, time and again.
func TestGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var g Group
		begun, running, released := 0, 0, 0
		run := func() (end func()) {
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				g.RunUntil(ctx, func(ctx context.Context) {
					begun++
					running++
					<-ctx.Done()
					running--
				}, func() { released++ })
			}()
			synctest.Wait()
			return func() { stop(); <-done }
		}
		for round := range 3 {
			first := run()
			second := run()
			if begun != round+1 || running != 1 {
				t.Errorf("round %d: begun %d times, %d run", round, begun, running)
			}
			first()
			if running != 1 || released != 2*round+1 {
				t.Errorf("round %d: after the first has ended %d run, %d released", round, running, released)
			}
			second()
			if running != 0 || released != 2*round+2 {
				t.Errorf("round %d: after the last has ended %d run, %d released", round, running, released)
			}
		}
	})
}
