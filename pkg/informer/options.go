package informer

import (
	"math/rand/v2"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/internal/backoff"
)

// Options are the inputs of a Set.
type Options struct {
	// Clients returns the clients of an identity; "" is Ambit's own. It is called
	// at each start of an informer, from its goroutine, concurrently: share clients
	// there. An error leaves the informer Degraded, and is tried again. If the client for
	// objects also has a method RESTClient() rest.Interface, as typed clients have, watches go
	// through that, and only what is kept of an object is decoded. Nil: each informer has a Storage, and none
	// shares its stream.
	Clients func(identity string) (dynamic.Interface, metadata.Interface, error)
	// Clock is the time of everything here. Nil means the real one.
	Clock clock.WithDelayedExecution
	// Retry is the wait before a refused informer is tried again. Nil means
	// Exponential(1s, 30s).
	Retry Backoff
	// Lookup is Retry for informers that are Missing: asking for a resource that is
	// not served costs little. Nil means Exponential(500ms, 4s).
	Lookup Backoff
	// Reconnect is the wait between attempts while the API server cannot be reached
	// or is busy. Nil means Exponential(100ms, 5s).
	Reconnect Backoff
	// Jitter is the randomness of everything here but of the waits that are given above: when
	// watches end, and the waits that are not given. Nil means math/rand.
	Jitter Jitter
	// Reauthorize is what Set.Reauthorize is called with at first.
	Reauthorize bool
	// Reopens is how many watches Set.Reauthorize makes end in one second, of all
	// informers together. 0 means 60.
	Reopens int
	// Opening is how many informers may be in the middle of being opened. 0 means 16.
	Opening int
	// OnWatchError is called for each list or watch that fails, also where client-go's
	// handler is silent. It is called from a goroutine of the informer, after that has
	// its new state and its handlers were told, and for one key by one goroutine at a
	// time. It holds the informer up: it must not block, nor wait for the informer to
	// end. No lock is held, and it may call every method of the Set but Start: Require
	// may release the very key, and Revoke may close it. Retry ends the wait that was
	// announced, so calling it for each error makes requests without a pause. A watch
	// that ends at its timeout and a call of Set.RevokeInformers are no errors; a request that is
	// not answered is none until it fails. Nil means that nobody is told.
	OnWatchError func(WatchError)
	// Logger is for people. The zero Logger writes nothing.
	Logger logr.Logger
}

// Backoff returns how long to wait after the given number of failures in a row,
// from 1. It must be safe for concurrent use.
type Backoff func(failures int) time.Duration

// Jitter returns a duration from 0 to most, both included, at random. It must be safe for
// concurrent use.
type Jitter func(most time.Duration) time.Duration

// anyDuration is the Jitter of which all durations are as likely.
func anyDuration(most time.Duration) time.Duration { return rand.N(most + 1) }

// Exponential doubles from first to last, and takes up to a quarter off at
// random, so that informers that failed together do not come back together. Both
// must be positive. A nil Jitter means math/rand.
func Exponential(first, last time.Duration, jitter Jitter) Backoff {
	if jitter == nil {
		jitter = anyDuration
	}
	upToAQuarterLess := func(wait time.Duration) time.Duration { return wait - jitter(wait/4) }
	return backoff.Exponential{First: first, Last: last, Jitter: upToAQuarterLess}.WaitAfter
}

// Bounds of what all informers do together.
const (
	defaultOpening = 16
	defaultReopens = 60
)

// withDefaults returns a copy in which everything is set.
func (o Options) withDefaults() Options {
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Jitter == nil {
		o.Jitter = anyDuration
	}
	if o.Retry == nil {
		o.Retry = Exponential(time.Second, 30*time.Second, o.Jitter)
	}
	if o.Lookup == nil {
		o.Lookup = Exponential(500*time.Millisecond, 4*time.Second, o.Jitter)
	}
	if o.Reconnect == nil {
		o.Reconnect = Exponential(100*time.Millisecond, 5*time.Second, o.Jitter)
	}
	if o.Opening == 0 {
		o.Opening = defaultOpening
	}
	if o.Reopens == 0 {
		o.Reopens = defaultReopens
	}
	return o
}
