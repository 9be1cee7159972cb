package controller

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/controller/clusterwatch"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/fairqueue"
	"github.com/ambit-dev/ambit/pkg/controller/ownerreconcile"
	"github.com/ambit-dev/ambit/pkg/controller/revisions"
	"github.com/ambit-dev/ambit/pkg/controller/telemetry"
	"github.com/ambit-dev/ambit/pkg/controller/wakes"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/backoff"
	"github.com/ambit-dev/ambit/pkg/permitted"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Options are the inputs of an Controller.
type Options struct {
	// Programs are the policies to run at first, and Retire those to clean up after, as in
	// Controller.Set. Both may be empty.
	Programs, Retire []*policy.Program
	// Informers are the informers. The caller starts them, before the controller, and
	// stops them after it. Required.
	Informers *informer.Set
	// Access says what may be done. The caller starts and stops it as Informers.
	// Required.
	Access *access.Reviewer
	// Clients returns the client that writes children and statuses as an identity,
	// as informer.Key has it. It is called for each write: share clients there. Required.
	Clients func(identity string) (dynamic.Interface, error)
	// Served asks the API server in which versions it serves kinds now: see
	// discovery.Options. Required.
	Served func(context.Context, []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error)
	// Identity is the user name of Ambit's own account, for messages.
	Identity string
	// Namespaces limits all policies to these namespaces. Empty: no limit.
	Namespaces []string
	// Concurrency is how many owners are worked on at once. 0 means 10.
	Concurrency int
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
	// Random returns a text of 128 random bits or more, for the records of owners. It
	// must be safe for concurrent use. Nil means crypto/rand.Text.
	Random func() string
	// Jitter returns a duration from 0 to most, both included, at random: it spreads what
	// would be tried again together. It must be safe for concurrent use. Nil means math/rand.
	Jitter func(most time.Duration) time.Duration
	// Metrics is told what the controller does. Nil: nobody is, and the metrics of
	// controller-runtime know nothing of its queue.
	Metrics telemetry.Metrics
	// Tracer makes a span of each reconcile, plan and write. Nil: none.
	Tracer trace.Tracer
	// Recorder makes Events of owners. Nil: there are none.
	Recorder ownerreconcile.Recorder
	// Clock is the time of conditions and backoffs, and that of which expressions ask. Nil means the real one.
	Clock clock.Clock
}

const defaultConcurrency = 10

// Key identifies what a worker reconciles: an owner of a policy or, without a name,
// the policy itself.
type Key = fairqueue.Key

// Controller runs policies. Create it with New; Start may be called once. It is
// safe for concurrent use.
type Controller struct {
	options     Options
	discovery   *discovery.Cache
	permitted   *permitted.Informers
	rights      *clusterwatch.RBACWatcher
	definitions *clusterwatch.DefinitionWatcher
	revisions   revisions.Registry[*policyController]
	startedAt   time.Time
	throttle    fairqueue.Throttle
	wakes       *wakes.Queue
	telemetry   *telemetry.Telemetry
	queue       atomic.Pointer[workqueue.TypedRateLimitingInterface[Key]]
	// setMutex is held while policies are replaced, and while Start gives all back.
	setMutex sync.Mutex
}

// enqueueKey never blocks.
func (e *Controller) enqueueKey(key Key) {
	if queue := e.queue.Load(); queue != nil {
		e.telemetry.RecordEvent(key)
		(*queue).Add(key)
	}
}

func (e *Controller) currentTime() time.Time { return e.options.Clock.Now() }

// Backoff of what did not succeed: doubling from the first value to the last,
// with up to a fifth of jitter. The last value bounds how long a mended cause
// that gives no event (a foreign object that went away) is missed.
const (
	retryMin = 200 * time.Millisecond
	retryMax = writeconflict.MaxWait
)

// backoffAfter is how long to wait after so many failures before the last one.
func (e *Controller) backoffAfter(failures int) time.Duration {
	upToAFifthMore := func(wait time.Duration) time.Duration { return wait + e.options.Jitter(wait/5) }
	return backoff.Exponential{First: retryMin, Last: retryMax, Jitter: upToAFifthMore}.WaitAfter(failures + 1)
}

// shorterWait is the shorter of two waits, of which 0 is none.
func shorterWait(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// releaseKinds has kinds no longer looked up that no policy, and no owner, needs.
func (e *Controller) releaseKinds(gone []schema.GroupVersionKind) {
	ended := e.discovery.ReleaseUnneeded(gone, func() (list []schema.GroupVersionKind) {
		for _, op := range e.revisions.AllRevisions() {
			list = append(list, op.kinds.AllKinds()...)
		}
		return list
	})
	if ended {
		e.definitions.CheckSoon(false) // perhaps nothing is missing any more
	}
}

// mayMakeEvents reports whether an Event of an owner in a namespace can be made, as far as the last
// answer tells: that is no reason to ask. Events are Ambit's own, whoever the policy acts as; of an
// owner without a namespace they are in the namespace `default`.
func (e *Controller) mayMakeEvents(namespace string) bool {
	create := access.Access{Verb: "create", Group: "events.k8s.io", Resource: "events"}
	for _, place := range []string{allNamespaces, cmp.Or(namespace, metav1.NamespaceDefault)} {
		if e.options.Access.Decide(access.Key{Namespace: place}, create) == access.Allowed {
			return true
		}
	}
	return false
}

// isRetired reports whether the policy of that label is being retired.
func (e *Controller) isRetired(label string) bool {
	return slices.ContainsFunc(e.revisions.AllCurrent(), func(op *policyController) bool { return op.retiring && op.program.Label == label })
}
