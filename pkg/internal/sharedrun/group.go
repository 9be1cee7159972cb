// Package sharedrun runs one thing for several users: from the first of them until the last has ended.
package sharedrun

import (
	"context"
	"sync"
)

// Group is the users of one thing. It is safe for concurrent use. The zero Group has none.
type Group struct {
	mu    sync.Mutex // guards what is below
	users int
	stop  context.CancelFunc // ends what is run
	done  chan struct{}      // closed when that has ended
}

// RunUntil has do run, unless it runs for another user already, until ctx ends. It calls release then, and returns; for
// the last user once do has ended. The context of do ends with the last user, and has the values of the first one's.
func (g *Group) RunUntil(ctx context.Context, do func(context.Context), release func()) {
	g.beginRun(ctx, do)
	<-ctx.Done()
	release()
	if done := g.endRun(); done != nil {
		<-done
	}
}

func (g *Group) beginRun(ctx context.Context, do func(context.Context)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users++; g.users > 1 {
		return
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	before, done := g.done, make(chan struct{})
	g.stop, g.done = stop, done
	go func() {
		defer close(done)
		if before != nil {
			<-before // it may be ending just now
		}
		do(running)
	}()
}

// endRun returns what is closed when all has ended; nil if there are other users.
func (g *Group) endRun() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.users--; g.users > 0 {
		return nil
	}
	g.stop()
	return g.done
}
