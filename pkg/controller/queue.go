package controller

import (
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Key names what a worker works on: an owner of a policy or, without a name,
// the policy itself.
type Key struct {
	// Policy is the policy's namespace, if it has one, and name, joined by a slash.
	Policy string
	// Namespace and Name are the owner's. Name is empty for the policy itself.
	Namespace, Name string
}

// turns is a workqueue.Queue that lets policies take turns: first in, first out
// within a policy, the policy itself before its owners, round robin between policies. A policy with many owners does
// not delay the others. Like every workqueue.Queue it is used under the lock of
// the queue around it.
type turns struct {
	waiting map[string][]Key // never holds an empty list
	order   []string         // the policies in waiting, the next one first
	length  int
}

var _ workqueue.Queue[Key] = (*turns)(nil)

// Touch does nothing: a key that is added again keeps its place.
func (t *turns) Touch(Key) {}

// Push adds a key at the end of its policy's line; the policy itself goes first, for
// it decides whether the others are worked on at all.
func (t *turns) Push(key Key) {
	if t.waiting == nil {
		t.waiting = map[string][]Key{}
	}
	line, ok := t.waiting[key.Policy]
	if !ok {
		t.order = append(t.order, key.Policy)
	}
	if key.Name == "" {
		line = append([]Key{key}, line...)
	} else {
		line = append(line, key)
	}
	t.waiting[key.Policy] = line
	t.length++
}

// Len returns the number of keys in all lines.
func (t *turns) Len() int { return t.length }

// Pop takes the first key of the policy whose turn it is.
func (t *turns) Pop() Key {
	policy := t.order[0]
	t.order = t.order[1:]
	line := t.waiting[policy]
	if len(line) == 1 {
		delete(t.waiting, policy)
	} else {
		t.waiting[policy] = line[1:]
		t.order = append(t.order, policy)
	}
	t.length--
	return line[0]
}

// Backoff of keys whose pass ended in an error, which is a fault of Ambit or of
// the machine: a refused request is not an error but part of the result.
const (
	errorBackoffMin = 50 * time.Millisecond
	errorBackoffMax = time.Minute
)

func newQueue(name string, limiter workqueue.TypedRateLimiter[Key]) workqueue.TypedRateLimitingInterface[Key] {
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, Queue: &turns{}})
	delaying := workqueue.NewTypedDelayingQueueWithConfig(workqueue.TypedDelayingQueueConfig[Key]{Name: name, Queue: inner})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, DelayingQueue: delaying})
}

func newLimiter() workqueue.TypedRateLimiter[Key] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[Key](errorBackoffMin, errorBackoffMax)
}
