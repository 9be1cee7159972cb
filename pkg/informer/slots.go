package informer

import (
	"context"
	"sync"
)

// slots bound how many streams are in the middle of being opened: opening
// thousands at once makes thousands of connections. One element is one slot
// taken.
type slots chan struct{}

// acquire takes a slot; release gives it back and may be called more than once.
// The error is that of ctx.
func (s slots) acquire(ctx context.Context) (release func(), err error) {
	select {
	case s <- struct{}{}:
		return sync.OnceFunc(func() { <-s }), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
