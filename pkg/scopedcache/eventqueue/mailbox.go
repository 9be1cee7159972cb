// Package eventqueue hands events from those who must not wait to those who take their time: in order, and however long
// they take.
package eventqueue

import (
	"context"
	"sync"

	"github.com/ambit-dev/ambit/pkg/internal/wakeup"
)

// Mailbox hands values to one goroutine. It is safe for concurrent use.
type Mailbox[T any] struct {
	woken chan struct{} // holds at most one; there is something

	mu   sync.Mutex // guards list
	list []T
}

// NewMailbox makes an empty one.
func NewMailbox[T any]() *Mailbox[T] { return &Mailbox[T]{woken: make(chan struct{}, 1)} }

// PushValue appends a value. It does not block.
func (m *Mailbox[T]) PushValue(value T) {
	m.mu.Lock()
	m.list = append(m.list, value)
	m.mu.Unlock()
	wakeup.SendWake(m.woken)
}

// Woken holds something when there may be values to take.
func (m *Mailbox[T]) Woken() <-chan struct{} { return m.woken }

// TakeAll takes what is there, which may be nothing.
func (m *Mailbox[T]) TakeAll() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.list
	m.list = nil
	return taken
}

// IsClosed reports whether a channel that is only ever closed is so.
func IsClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// WaitClosed waits until a channel is closed, and reports whether it was so before ctx had ended.
func WaitClosed(ctx context.Context, done <-chan struct{}) bool {
	if IsClosed(done) {
		return true
	}
	if ctx.Err() != nil {
		return false // also if it is closed right now
	}
	select {
	case <-done:
		return true
	case <-ctx.Done():
		return false
	}
}
