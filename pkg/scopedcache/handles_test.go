package scopedcache

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"weak"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/scopedcache/kindsettings"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamlayout"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
	"github.com/ambit-dev/ambit/test/sim"
)

var handlesFlag = flag.Int("handles", 200, "how many handles are opened and closed on the simulated cluster")

// TestManyHandles opens and closes handles over 50 namespaces whose rights come and go, for an hour of virtual time.
// Then no stream, no kind, no review, no goroutine and no memory is left.
func TestManyHandles(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &plan{T: t, random: rand.New(rand.NewPCG(14, 14)), granted: map[string]bool{}, seen: map[string]string{}}
		p.server = sim.New(sim.Options{Seed: 1, Faults: p})
		p.admin = p.server.As(sim.Admin).Dynamic()
		places := make([]string, 50)
		for i := range places {
			places[i] = fmt.Sprint("place-", i)
			p.write(namespaceResource, "", object("v1", "Namespace", places[i]))
			p.write(roleResource, places[i], readerRole())
			p.write(configMapResource, places[i], object("v1", "ConfigMap", "a"))
		}
		p.rule = streamlayout.Permitted
		p.makeCacheOf(Options{Namespaces: Permitted("nowhere")}, nil)
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			if err := p.cache.Start(ctx); err != nil {
				t.Error(err)
			}
		})
		synctest.Wait()
		var opened []weak.Pointer[Handle]
		var needed []weak.Pointer[streamstore.Store]
		for i := range *handlesFlag {
			p.openHandle(ctx, i, places[p.random.IntN(len(places))])
			opened = append(opened, weak.Make(p.handles[len(p.handles)-1]))
			needed = append(needed, weak.Make(p.cache.registry.StoreOf(kindsettings.Key{GVK: configMapKind, Flavor: kindsettings.Unstructured})))
			if len(p.handles) > 30 {
				p.handles[0].Close()
				p.handles = p.handles[1:]
			}
			p.flipRight(places[p.random.IntN(len(places))])
			time.Sleep(time.Hour / time.Duration(*handlesFlag))
		}
		for _, h := range p.handles {
			h.Close()
		}
		p.handles = nil
		synctest.Wait()
		c := p.cache
		if open, kinds, states := p.server.Watches(), c.registry.NeededStores(), c.informers.States(); len(open)+len(kinds)+len(states)+len(c.handles) > 0 {
			t.Errorf("after the last handle there are watches %v, kinds %v, informers %v, handles %v", open, kinds, states, c.handles)
		}
		asked := c.reviews.CountRequests()
		time.Sleep(10 * time.Minute)
		if n := c.reviews.CountRequests() - asked; n > 0 {
			t.Errorf("%d reviews although nobody needs anything", n)
		}
		if handles, kinds := countKept(opened), countKept(needed); handles+kinds > 0 {
			t.Errorf("the memory of %d handles and of a kind, at %d of %d times, is not free", handles, kinds, len(needed))
		}
		stop()
		running.Wait()
	})
}

// countKept returns how many of those that nobody needs are in memory.
func countKept[T any](pointers []weak.Pointer[T]) (kept int) {
	runtime.GC()
	for _, p := range pointers {
		if p.Value() != nil {
			kept++
		}
	}
	return kept
}

// openHandle opens a handle that reads in a namespace.
func (p *plan) openHandle(ctx context.Context, i int, namespace string) {
	h := p.cache.For(Owner{NamespacedName: types.NamespacedName{Name: strconv.Itoa(i)}})
	p.handles = append(p.handles, h)
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_ = h.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "a"}, newConfigMap()) // it may be denied
}
