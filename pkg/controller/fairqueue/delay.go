package fairqueue

import (
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// delayingQueue is a delaying queue in which a key waits once: the wait that was asked for last counts, and none
// any more when a worker has the key, which says anew when to look again. client-go's own adds a
// key after its shortest wait, although it may have been worked on since.
type delayingQueue struct {
	workqueue.TypedDelayingInterface[Key] // over an overdueQueue, which gets what has waited
	inner                                 workqueue.TypedInterface[Key]

	mu  sync.Mutex
	due map[Key]time.Time // when the keys that wait have waited
}

// newDelayingQueue returns a queue that delays keys of another one. Its retries are counted by name, if it has one.
func newDelayingQueue(name string, inner workqueue.TypedInterface[Key]) *delayingQueue {
	q := &delayingQueue{inner: inner, due: map[Key]time.Time{}}
	q.TypedDelayingInterface = workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, Queue: overdueQueue{inner, q}})
	return q
}

// Add adds a key at once.
func (q *delayingQueue) Add(key Key) { q.inner.Add(key) }

// Get hands a key to a worker.
func (q *delayingQueue) Get() (key Key, shutdown bool) {
	key, shutdown = q.inner.Get()
	q.mu.Lock()
	defer q.mu.Unlock()
	delete(q.due, key)
	return key, shutdown
}

// AddAfter adds a key when d is over, and not when an earlier wait is.
func (q *delayingQueue) AddAfter(key Key, d time.Duration) {
	q.mu.Lock()
	q.due[key] = time.Now().Add(d)
	q.mu.Unlock()
	q.TypedDelayingInterface.AddAfter(key, d)
}

// takeDue says whether a key still waits, and for how long; 0: it has waited, and no longer does.
func (q *delayingQueue) takeDue(key Key) (left time.Duration, waits bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	at, waits := q.due[key]
	if left = max(0, time.Until(at)); left == 0 {
		delete(q.due, key)
	}
	return left, waits
}

// overdueQueue is where client-go's delaying queue adds keys at the end of any of their waits.
type overdueQueue struct {
	workqueue.TypedInterface[Key]
	delaying *delayingQueue
}

// Add adds a key whose wait this was.
func (q overdueQueue) Add(key Key) {
	switch left, waits := q.delaying.takeDue(key); {
	case waits && left > 0:
		go q.delaying.TypedDelayingInterface.AddAfter(key, left) // it may block for as long as Add does not return
	case waits:
		q.TypedInterface.Add(key)
	}
}
