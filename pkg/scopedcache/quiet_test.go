package scopedcache

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/test/sim"
)

// counter counts the requests of the cache by verb, but for watches, which are opened again where they were.
type counter struct {
	plan

	countMu sync.Mutex // guards counts
	counts  map[string]int
}

// Before implements sim.Faults.
func (c *counter) Before(ctx context.Context, r sim.Request) error {
	c.countMu.Lock()
	defer c.countMu.Unlock()
	if r.User == "operator" && r.Verb != "watch" {
		c.counts[r.Verb+" "+r.Resource.Resource]++
	}
	return c.plan.Before(ctx, r)
}

func (c *counter) take() map[string]int {
	c.countMu.Lock()
	defer c.countMu.Unlock()
	taken := c.counts
	c.counts = map[string]int{}
	return taken
}

// TestQuiet: while nothing changes there are no requests, but for the reviews of what is denied.
func TestQuiet(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &counter{plan: plan{T: t, random: rand.New(rand.NewPCG(1, 1)), granted: map[string]bool{}, seen: map[string]string{}}, counts: map[string]int{}}
		c.server = sim.New(sim.Options{Seed: 1, Faults: c})
		c.admin = c.server.As(sim.Admin).Dynamic()
		for _, namespace := range allPlaces[:2] {
			c.write(namespaceResource, "", object("v1", "Namespace", namespace))
			c.write(roleResource, namespace, readerRole())
		}
		c.flipRight("one")
		c.makeCacheOf(Options{Namespaces: InNamespaces(allPlaces[:2]...)}, nil)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { c.must(c.cache.Start(ctx)) })
		_, err := c.cache.GetInformer(ctx, newConfigMap(), cache.BlockUntilSynced(false))
		c.must(err)
		c.rest()
		c.take()
		time.Sleep(10 * time.Minute)
		denied := c.take()
		reviews := denied["create selfsubjectrulesreviews"] + denied["create selfsubjectaccessreviews"]
		if len(denied) != 1 && len(denied) != 2 || reviews == 0 || reviews > 160 {
			t.Errorf("in 10 minutes in which something was denied: %v", denied)
		}
		c.flipRight("two")
		c.rest()
		c.take()
		time.Sleep(10 * time.Minute)
		if allowed := c.take(); len(allowed) > 0 {
			t.Errorf("in 10 minutes in which nothing was denied: %v", allowed)
		}
		stop()
		running.Wait()
	})
}
