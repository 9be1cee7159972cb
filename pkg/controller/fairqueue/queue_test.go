package fairqueue

import (
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/util/workqueue"
	"pgregory.net/rapid"
)

func keyOf(policy, name string) Key { return Key{Policy: policy, Name: name} }

func keyIn(policy, namespace, name string) Key {
	return Key{Policy: policy, Namespace: namespace, Name: name}
}

func TestRoundRobin(t *testing.T) {
	cases := map[string]struct {
		reason     string
		push, want []Key
	}{
		"OnePolicy": {
			reason: "within a policy the first comes first",
			push:   []Key{keyOf("a", "1"), keyOf("a", "2"), keyOf("a", "3")},
			want:   []Key{keyOf("a", "1"), keyOf("a", "2"), keyOf("a", "3")},
		},
		"SmallBehindLarge": {
			reason: "a policy with one owner is served after one owner of a large policy",
			push:   []Key{keyOf("a", "1"), keyOf("a", "2"), keyOf("a", "3"), keyOf("b", "1")},
			want:   []Key{keyOf("a", "1"), keyOf("b", "1"), keyOf("a", "2"), keyOf("a", "3")},
		},
		"Three": {
			reason: "policies take turns in the order in which they came",
			push:   []Key{keyOf("c", "1"), keyOf("a", "1"), keyOf("a", "2"), keyOf("b", "1"), keyOf("c", "2")},
			want:   []Key{keyOf("c", "1"), keyOf("a", "1"), keyOf("b", "1"), keyOf("c", "2"), keyOf("a", "2")},
		},
		"TenantBehindMany": {
			reason: "an owner is served after one owner of a namespace that has many",
			push:   []Key{keyIn("a", "n", "1"), keyIn("a", "n", "2"), keyIn("a", "n", "3"), keyIn("a", "m", "1")},
			want:   []Key{keyIn("a", "n", "1"), keyIn("a", "m", "1"), keyIn("a", "n", "2"), keyIn("a", "n", "3")},
		},
		"TenantsOfPolicies": {
			reason: "a policy has one turn, however many namespaces its owners are in",
			push:   []Key{keyIn("a", "n", "1"), keyIn("a", "m", "1"), keyIn("a", "o", "1"), keyIn("b", "n", "1"), keyIn("b", "n", "2")},
			want:   []Key{keyIn("a", "n", "1"), keyIn("b", "n", "1"), keyIn("a", "m", "1"), keyIn("b", "n", "2"), keyIn("a", "o", "1")},
		},
		"NameLikeNamespace": {
			reason: "an owner without a namespace is no owner of the namespace of its name",
			push:   []Key{keyIn("a", "n", "1"), keyIn("a", "n", "2"), keyOf("a", "n")},
			want:   []Key{keyIn("a", "n", "1"), keyOf("a", "n"), keyIn("a", "n", "2")},
		},
		"PolicyItself": {
			reason: "the policy decides whether its owners are worked on, and goes first among them",
			push:   []Key{keyOf("a", "1"), keyOf("a", "2"), keyOf("a", "")},
			want:   []Key{keyOf("a", ""), keyOf("a", "1"), keyOf("a", "2")},
		},
		"PolicyItselfBehindOthers": {
			reason: "a policy's own key does not take another policy's turn",
			push:   []Key{keyOf("b", "1"), keyOf("a", "1"), keyOf("a", "")},
			want:   []Key{keyOf("b", "1"), keyOf("a", ""), keyOf("a", "1")},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			order := &roundRobin{}
			for _, k := range tc.push {
				order.Push(k)
			}
			if order.Len() != len(tc.push) {
				t.Errorf("%d keys are held, want %d", order.Len(), len(tc.push))
			}
			var got []Key
			for order.Len() > 0 {
				got = append(got, order.Pop())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if len(order.waiting)+len(order.tenants)+len(order.policies) != 0 {
				t.Errorf("an empty queue keeps %v, %v, %v", order.waiting, order.tenants, order.policies)
			}
		})
	}
}

// TestRoundRobinIsFair: whatever is pushed and popped, nothing is lost, owners of a tenant keep
// their order, no policy has two turns while another one waits for its first, and no tenant of a
// policy has while another one of it does.
func TestRoundRobinIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		order, twin := &roundRobin{}, []Key{}            // the twin is first in, first out
		policies, tenants := turns{}, map[string]turns{} // of tenants by policy
		for i := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(twin) == 0 || rapid.Bool().Draw(t, "push") {
				key := keyIn(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "policy"), rapid.SampledFrom([]string{"m", "n"}).Draw(t, "namespace"), strconv.Itoa(i))
				order.Push(key)
				twin = append(twin, key)
				if tenants[key.Policy] == nil {
					tenants[key.Policy] = turns{}
				}
				policies.begin(key.Policy)
				tenants[key.Policy].begin(key.Namespace)
				continue
			}
			got := order.Pop()
			first := slices.IndexFunc(twin, func(k Key) bool { return k.Policy == got.Policy && k.Namespace == got.Namespace })
			if first < 0 || twin[first] != got {
				t.Fatalf("popped %v, of %v", got, twin)
			}
			twin = slices.Delete(twin, first, first+1)
			waits := func(is func(Key) bool) bool { return slices.ContainsFunc(twin, is) }
			policies.take(t, got.Policy, waits(func(k Key) bool { return k.Policy == got.Policy }))
			tenants[got.Policy].take(t, got.Namespace, waits(func(k Key) bool { return k.Policy == got.Policy && k.Namespace == got.Namespace }))
			if order.Len() != len(twin) {
				t.Fatalf("%d keys are held, want %d", order.Len(), len(twin))
			}
		}
	})
}

// turns are those of others that each one who waits has seen since its own last one.
type turns map[string][]string

func (w turns) begin(who string) {
	if w[who] == nil {
		w[who] = []string{}
	}
}

// take notes a turn of somebody, who still waits or does not.
func (w turns) take(t *rapid.T, who string, waits bool) {
	delete(w, who)
	for other, seen := range w {
		if slices.Contains(seen, who) {
			t.Fatalf("%s has two turns while %s waits", who, other)
		}
		w[other] = append(seen, who)
	}
	if waits {
		w[who] = []string{}
	}
}

// withQueue runs a test in virtual time with a queue that is shut down at its end.
func withQueue(t *testing.T, test func(*testing.T, workqueue.TypedRateLimitingInterface[Key])) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		queue := New("", ErrorBackoff())
		test(t, queue)
		queue.ShutDown()
		synctest.Wait()
	})
}

// get returns the next key, and how long it took to come.
func get(queue workqueue.TypedRateLimitingInterface[Key]) (Key, time.Duration) {
	began := time.Now()
	key, _ := queue.Get()
	return key, time.Since(began)
}

func TestQueueTakesTurns(t *testing.T) {
	withQueue(t, func(t *testing.T, queue workqueue.TypedRateLimitingInterface[Key]) {
		for _, key := range []Key{keyOf("a", "1"), keyOf("a", "2"), keyOf("a", "2"), keyOf("b", "1")} {
			queue.Add(key)
		}
		for _, want := range []Key{keyOf("a", "1"), keyOf("b", "1"), keyOf("a", "2")} {
			if got, _ := get(queue); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
		if queue.Len() != 0 {
			t.Errorf("%d keys are left: a key is held once", queue.Len())
		}
	})
}

// TestQueueGivesAKeyToOneWorker: a key that is added while it is worked on comes again when
// the worker is done, after others that wait.
func TestQueueGivesAKeyToOneWorker(t *testing.T) {
	withQueue(t, func(t *testing.T, queue workqueue.TypedRateLimitingInterface[Key]) {
		queue.Add(keyOf("a", "1"))
		key, _ := get(queue)
		queue.Add(key)
		if queue.Len() != 0 {
			t.Error("a key that is worked on can be got by another worker")
		}
		queue.Add(keyOf("a", "2"))
		queue.Done(key)
		for _, want := range []Key{keyOf("a", "2"), keyOf("a", "1")} {
			if got, _ := get(queue); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		}
	})
}

// TestErrorBackoff: a key whose reconcile fails waits twice as long each time, up to a
// minute, and no longer than at first after a success.
func TestErrorBackoff(t *testing.T) {
	withQueue(t, func(t *testing.T, queue workqueue.TypedRateLimitingInterface[Key]) {
		key := keyOf("a", "1")
		fails := func(want time.Duration) {
			t.Helper()
			queue.AddRateLimited(key)
			got, took := get(queue)
			if queue.Done(got); got != key || took != want {
				t.Errorf("%v comes after %s, want %s", got, took, want)
			}
		}
		for wait := errorBackoffMin; wait < errorBackoffMax; wait *= 2 {
			fails(wait)
		}
		fails(errorBackoffMax)
		fails(errorBackoffMax)
		queue.Forget(key)
		fails(errorBackoffMin)
	})
}

// TestFirstEvents: the first of several events counts, until it is taken.
func TestFirstEvents(t *testing.T) {
	var events FirstEvents
	key, other := keyOf("p", "a"), keyOf("p", "b")
	if at := events.TakeFirst(key); !at.IsZero() {
		t.Errorf("without an event it came at %v", at)
	}
	events.RecordEvent(key, start())
	events.RecordEvent(key, start().Add(time.Second))
	events.RecordEvent(other, start().Add(time.Minute))
	if at := events.TakeFirst(key); !at.Equal(start()) {
		t.Errorf("the first event came at %v, want %v", at, start())
	}
	if at := events.TakeFirst(key); !at.IsZero() {
		t.Errorf("what was taken is there still: %v", at)
	}
	if at := events.TakeFirst(other); !at.Equal(start().Add(time.Minute)) || len(events.times) != 0 {
		t.Errorf("the other one came at %v; left: %v", at, events.times)
	}
}
