package e2e

import (
	"context"
	"fmt"
	"runtime"
)

// openStreams waits until the story's user has so many watches open at the API
// server, by resource, and no others.
func (w *world) openStreams(want map[string]int) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the open streams are %v", want), func(context.Context) error {
		open, err := w.control.Audit().OpenWatches(w.user)
		if err != nil {
			return err
		}
		got := map[string]int{}
		for _, r := range open {
			got[r.Resource]++
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			return fmt.Errorf("they are %v", got)
		}
		return nil
	})
}

// goroutines waits until there are at most so many, and returns the number; a
// limit of 0 only counts.
func (w *world) goroutines(when string, limit int) int {
	w.t.Helper()
	if limit > 0 {
		w.eventually(fmt.Sprintf("there are at most %d goroutines %s", limit, when), func(context.Context) error {
			if n := runtime.NumGoroutine(); n > limit {
				return fmt.Errorf("there are %d", n)
			}
			return nil
		})
	}
	n := runtime.NumGoroutine()
	w.t.Logf("%d goroutines %s", n, when)
	return n
}
