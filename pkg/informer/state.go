package informer

import (
	"time"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// State is where an informer stands. Its text is for metrics and people.
type State string

const (
	// Probing: the informer is being opened and nothing was answered yet.
	Probing State = "Probing"
	// Starting: the API server accepted; the first list is not in, or is in and
	// the watch after it is not open yet.
	Starting State = "Starting"
	// Live: the first list is in and a watch is open. One that ends, at its timeout
	// for example, is opened again without leaving this state, unless that fails or
	// is not answered for 5 seconds.
	Live State = "Live"
	// Degraded: the API server cannot be reached or is busy. It is tried again
	// until it answers; objects already there stay and may be stale.
	Degraded State = State(listwatch.Degraded)
	// Forbidden: the identity may not list or watch this (403, or Set.RevokeInformers
	// says so). Final.
	Forbidden State = State(listwatch.Forbidden)
	// Unauthenticated: the API server does not accept the identity (401). Final.
	Unauthenticated State = State(listwatch.Unauthenticated)
	// Missing: the API server does not serve the resource (404). Final.
	Missing State = State(listwatch.Missing)
	// Invalid: the API server refuses such a request (400, 405), for example a
	// field selector that it does not support. Final.
	Invalid State = State(listwatch.Invalid)
	// Stopped: nobody needs the informer any more, or the Set has ended.
	Stopped State = "Stopped"
)

// IsFinal reports whether the informer was refused, by the API server or by
// Set.RevokeInformers: it is closed, has no objects, and is tried again after a backoff
// or Set.Retry. An informer stays in a final state until it is accepted or
// refused for another reason.
func (s State) IsFinal() bool { return listwatch.Class(s).IsFinal() }

// Status says how an informer is. It is a copy.
type Status struct {
	State State
	// Synced: the first list of this epoch is in, so that what is not listed was
	// not there. It says nothing about whether a watch is open.
	Synced bool
	// Reason is a CamelCase word for why, Message a sentence for people. Both empty
	// while all is well.
	Reason, Message string
	// Err is the answer behind Degraded and final states, or what Set.RevokeInformers was
	// given; nil otherwise.
	Err error
	// Since is when State was entered.
	Since time.Time
	// Epoch is the number of the informer's present start: later starts, of this or
	// any other informer, have greater numbers, and Set.RevokeInformers counts as one. 0: not
	// started yet.
	Epoch uint64
}

// KeyStatus is one informer, for metrics and tests.
type KeyStatus struct {
	Key Key
	Status
	// Objects is how many objects the store has.
	Objects int
	// Bytes is about how much memory they take.
	Bytes int
	// Needs is how many needs hold the informer: handlers, mostly.
	Needs int
}
