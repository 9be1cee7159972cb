package scopedcache

import "sync"

// mailbox hands values from those who must not wait to one goroutine that takes its time, in order. It is safe for
// concurrent use.
type mailbox[T any] struct {
	woken chan struct{} // holds at most one; there is something

	mu   sync.Mutex // guards list
	list []T
}

func newMailbox[T any]() *mailbox[T] { return &mailbox[T]{woken: make(chan struct{}, 1)} }

func (m *mailbox[T]) push(value T) {
	m.mu.Lock()
	m.list = append(m.list, value)
	m.mu.Unlock()
	select {
	case m.woken <- struct{}{}:
	default: // one is enough
	}
}

func (m *mailbox[T]) takeAll() []T {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := m.list
	m.list = nil
	return taken
}
