package main

import (
	"context"
	"math/rand/v2"
	"sync"

	"golang.org/x/sync/errgroup"
)

// cycles goes through all cycles, each namespace its own after another.
func (t *trial) cycles(ctx context.Context) ([]cycle, error) {
	var mu sync.Mutex // guards done
	var done []cycle
	group, ctx := errgroup.WithContext(ctx)
	for i, namespace := range t.cycling() {
		random := rand.New(rand.NewPCG(t.Seed, uint64(i)))
		group.Go(func() error {
			for range share(t.Cycles, t.Namespaces, i) {
				c, err := t.cycle(ctx, namespace, random)
				if err != nil {
					return err
				}
				mu.Lock()
				done = append(done, c)
				mu.Unlock()
			}
			return nil
		})
	}
	err := group.Wait()
	return done, err
}

// share is how many of all things the i-th of so many parts gets.
func share(all, parts, i int) int { return (all + parts - 1 - i) / parts }

// collect brings the latencies of cycles together.
func collect(cycles []cycle) map[metric][]float64 {
	all := map[metric][]float64{}
	for _, c := range cycles {
		for m, latency := range c.latencies {
			all[m] = append(all[m], latency)
		}
	}
	return all
}
