package fairqueue

import (
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// Key identifies what a worker reconciles: an owner of a policy or, without a name,
// the policy itself.
type Key struct {
	// Policy is the policy's namespace, if it has one, and name, joined by a slash.
	Policy string
	// Namespace and Name are the owner's. Name is empty for the policy itself.
	Namespace, Name string
}

// New returns a queue in which policies take turns, and within a policy the namespaces of its
// owners. It holds a key once, and gives it to one worker at a time. Of the waits of a key (AddAfter) only the
// last counts, until a worker has it. Its metrics have the name; without one it has none. Keys
// added with AddRateLimited wait as limiter says. The caller ends it with ShutDown.
func New(name string, limiter workqueue.TypedRateLimiter[Key]) workqueue.TypedRateLimitingInterface[Key] {
	inner := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[Key]{Name: name, Queue: &roundRobin{}})
	return workqueue.NewTypedRateLimitingQueueWithConfig(limiter, workqueue.TypedRateLimitingQueueConfig[Key]{Name: name, DelayingQueue: newDelayingQueue(name, inner)})
}

// Backoff of keys whose reconcile ended in an error, which is a fault of Ambit or of
// the machine: a refused request is not an error but part of the result.
const (
	errorBackoffMin = 50 * time.Millisecond
	errorBackoffMax = time.Minute
)

// ErrorBackoff returns the rate limiter of keys whose reconcile ended in an error.
func ErrorBackoff() workqueue.TypedRateLimiter[Key] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[Key](errorBackoffMin, errorBackoffMax)
}

// roundRobin is the order of the queue: policies take turns, and within a policy its tenants;
// within a tenant the first comes first. The policy itself goes before its owners, because it
// decides whether they are worked on at all. It is used under the lock of the queue around it.
// The zero value is ready.
type roundRobin struct {
	waiting map[line][]Key // never holds an empty list
	// tenants are those of each policy that wait, and policies those that wait, the next one
	// first. There is no empty list either.
	tenants  map[string][]string
	policies []string
	length   int // of all lists together
}

// line is where a key waits.
type line struct{ policy, tenant string }

// lineOf returns the line of a key. Owners in one namespace are one tenant, and so is an owner
// without a namespace, whose tenant is no name of a namespace. That of a policy itself is empty.
func lineOf(key Key) line {
	switch {
	case key.Namespace != "":
		return line{key.Policy, key.Namespace}
	case key.Name != "":
		return line{key.Policy, "/" + key.Name}
	}
	return line{policy: key.Policy}
}

var _ workqueue.Queue[Key] = (*roundRobin)(nil)

// Touch does nothing: a key that is added again keeps its place.
func (r *roundRobin) Touch(Key) {}

// Push adds a key at the end of its tenant's list.
func (r *roundRobin) Push(key Key) {
	if r.waiting == nil {
		r.waiting, r.tenants = map[line][]Key{}, map[string][]string{}
	}
	at := lineOf(key)
	if _, waits := r.tenants[at.policy]; !waits {
		r.policies = append(r.policies, at.policy)
	}
	before, waits := r.waiting[at]
	switch {
	case waits:
	case at.tenant == "":
		r.tenants[at.policy] = slices.Insert(r.tenants[at.policy], 0, at.tenant)
	default:
		r.tenants[at.policy] = append(r.tenants[at.policy], at.tenant)
	}
	r.waiting[at] = append(before, key)
	r.length++
}

// Len returns the number of keys of all policies.
func (r *roundRobin) Len() int { return r.length }

// Pop takes the first key of the tenant whose turn it is, of the policy whose turn it is. There
// must be one.
func (r *roundRobin) Pop() Key {
	at := line{policy: r.policies[0], tenant: r.tenants[r.policies[0]][0]}
	keys, tenants := r.waiting[at], r.tenants[at.policy][1:]
	if len(keys) == 1 {
		delete(r.waiting, at)
	} else {
		r.waiting[at] = keys[1:]
		tenants = append(tenants, at.tenant)
	}
	r.policies = r.policies[1:]
	if len(tenants) == 0 {
		delete(r.tenants, at.policy)
	} else {
		r.tenants[at.policy] = tenants
		r.policies = append(r.policies, at.policy)
	}
	r.length--
	return keys[0]
}

// FirstEvents holds, for keys that wait because of events, the time of the first one. It
// is what latency is measured from. The zero value is ready. Safe for concurrent use.
type FirstEvents struct {
	mu    sync.Mutex // guards what is below
	times map[Key]time.Time
}

// RecordEvent notes an event of a key. Only the first one since TakeFirst counts.
func (f *FirstEvents) RecordEvent(key Key, now time.Time) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times == nil {
		f.times = map[Key]time.Time{}
	}
	if _, ok := f.times[key]; !ok {
		f.times[key] = now
	}
}

// TakeFirst returns the time of the key's first event since the last call, and forgets it.
// It is zero if there was no event.
func (f *FirstEvents) TakeFirst(key Key) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	first := f.times[key]
	delete(f.times, key)
	return first
}
