package faultplan

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/sim"
)

// User is who Ambit is.
const User = "system:serviceaccount:ambit-system:ambit"

// process is Ambit as package manager puts it together, but for its servers and its
// election of a leader.
type process struct {
	name   string
	engine *controller.Controller
	finish func() // ends the engine, then what it stands on, and waits
}

// startProcess makes and starts one, whose clock is off.
func startProcess(server *sim.Server, name string, programs []*policy.Program, seed uint64, off time.Duration) (*process, error) {
	as := func(identity string) *sim.Client {
		c := server.As(User).Named(name)
		if identity != "" {
			c = c.Impersonate(identity)
		}
		return c
	}
	streams := informer.NewSet(informer.Options{
		Clients: func(id string) (dynamic.Interface, metadata.Interface, error) {
			return as(id).Dynamic(), as(id).Metadata(), nil
		},
		Retry:  informer.Exponential(4*time.Second, 30*time.Second, jitter(seed, 4)),
		Jitter: jitter(seed, 7),
	})
	reviewer := access.New(access.Options{
		Reviews: func(id string) (access.Reviews, error) { return as(id).Reviews(), nil },
		Jitter:  jitter(seed, 8),
	})
	e, err := controller.New(controller.Options{
		Programs: programs, Informers: streams, Access: reviewer, Identity: User,
		Clients: func(id string) (dynamic.Interface, error) { return as(id).Dynamic(), nil },
		Served:  servedBy(as("").Served),
		Random:  randomTexts(seed),
		Jitter:  jitter(seed, 9),
		Clock:   wrongClock{off: off},
	})
	if err != nil {
		return nil, fmt.Errorf("making the engine: %w", err)
	}
	p := &process{name: name, engine: e}
	ctx, cancel := context.WithCancel(context.Background())
	usedCtx, end := context.WithCancel(context.Background())
	var used, working sync.WaitGroup
	used.Go(func() { _ = streams.Start(usedCtx) })
	used.Go(func() { _ = reviewer.Start(usedCtx) })
	working.Go(func() { _ = e.Start(ctx) })
	p.finish = func() {
		cancel()
		working.Wait()
		end()
		used.Wait()
	}
	return p, nil
}

// wrongClock is off by as much; how fast it goes is right.
type wrongClock struct {
	clock.RealClock
	off time.Duration
}

// Now implements clock.PassiveClock.
func (c wrongClock) Now() time.Time { return time.Now().Add(c.off) }

// Since implements clock.PassiveClock.
func (c wrongClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// randomTexts is for controller.Options.Random.
func randomTexts(seed uint64) func() string {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 3))
	return func() string {
		mu.Lock()
		defer mu.Unlock()
		return fmt.Sprintf("%016x%016x", source.Uint64(), source.Uint64())
	}
}

// jitter is for the options of that name; each use has a stream of its own.
func jitter(seed, stream uint64) func(most time.Duration) time.Duration {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, stream))
	return func(most time.Duration) time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(source.Int64N(int64(most) + 1))
	}
}

// servedBy asks about one kind after the other.
func servedBy(find func(context.Context, schema.GroupKind) ([]*meta.RESTMapping, error)) func(context.Context, []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
	return func(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
		answer := make(map[schema.GroupKind]discovery.ServedKind, len(kinds))
		for _, kind := range kinds {
			mappings, err := find(ctx, kind)
			answer[kind] = discovery.ServedKind{Mappings: mappings, Err: err}
		}
		return answer, nil
	}
}
