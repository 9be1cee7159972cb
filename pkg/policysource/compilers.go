package policysource

import (
	"cmp"
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/clock"

	"github.com/go-logr/logr"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/compilequeue"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// compilerCount is how many manifests are compiled at a time. They are of different namespaces, so
// that no namespace need wait for another one.
const compilerCount = 2

// compilers compile manifests beside the goroutine of decisions, in the order of a queue. They are safe for
// concurrent use.
type compilers struct {
	queue *compilequeue.Queue
	clock clock.Clock
	// compile may take long. It ends soon after its context.
	compile func(context.Context, manifest.Manifest) *manifest.Contents
	// ready is called when a manifest was compiled. It does not block.
	ready func()
	work  chan struct{} // holds one: there may be something to do
}

func newCompilers(c clock.Clock, compile func(context.Context, manifest.Manifest) *manifest.Contents, ready func()) *compilers {
	return &compilers{queue: compilequeue.New(), clock: c, compile: compile, ready: ready, work: make(chan struct{}, 1)}
}

// startAll compiles until ctx ends, and returns when nothing is compiled any more.
func (c *compilers) startAll(ctx context.Context) {
	var running sync.WaitGroup
	for range compilerCount {
		running.Go(func() {
			for ctx.Err() == nil {
				c.compileNext(ctx)
			}
		})
	}
	running.Wait()
}

// compileNext compiles one manifest, or waits until there may be one.
func (c *compilers) compileNext(ctx context.Context) {
	from := c.clock.Now()
	m, wait := c.queue.TakeNext(from)
	if m != nil {
		c.wakeOne() // there may be one for the other compiler
		contents := c.compile(ctx, *m)
		c.queue.FinishCompile(*m, contents, from, c.clock.Now())
		c.wakeOne()
		c.ready()
		return
	}
	wakeup.WaitFor(ctx, c.clock, cmp.Or(wait, wakeup.NoEnd), c.work)
}

// wakeOne wakes a compiler, unless one is awake.
func (c *compilers) wakeOne() { wakeup.SendWake(c.work) }

// setManifests has all of these manifests compiled that are not yet, and no others.
func (c *compilers) setManifests(shown []manifest.Manifest) {
	c.queue.SetManifests(shown, c.clock.Now())
	c.wakeOne()
}

const (
	// schemasTimeout is how long a compiler waits for schemas, and schemasBackoff how long none
	// are asked for after they did not come in that time.
	schemasTimeout = 2 * time.Second
	schemasBackoff = 30 * time.Second
)

// schemaReader asks for the schemas of kinds, one call at a time. It is safe for concurrent use.
type schemaReader struct {
	read   func(context.Context, []schema.GroupVersionKind) policy.Schemas // nil: there are none
	clock  clock.Clock
	logger logr.Logger

	running   sync.WaitGroup
	turn      chan struct{} // holds one: guards notBefore
	notBefore time.Time
}

// readSoon returns the schemas of kinds that can be had soon; nil if there are none.
func (r *schemaReader) readSoon(ctx context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
	if r.read == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, schemasTimeout)
	defer cancel()
	select {
	case r.turn <- struct{}{}:
		defer func() { <-r.turn }()
	case <-ctx.Done():
		return nil
	}
	if r.clock.Now().Before(r.notBefore) {
		return nil
	}
	answer := make(chan policy.Schemas, 1)
	r.running.Go(func() { answer <- r.read(ctx, kinds) })
	select {
	case schemas := <-answer:
		return schemas
	case <-ctx.Done():
		r.notBefore = r.clock.Now().Add(schemasBackoff)
		r.logger.Info("fields of kinds are not checked", "reason", "the API server did not publish them in time")
		return nil
	}
}
