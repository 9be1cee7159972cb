package informer

import "k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

// EventType is what an Event is about.
type EventType string

const (
	// Added: an object that was not in the store.
	Added EventType = "Added"
	// Updated: an object that is kept has changed in what is kept of it, beside
	// its resourceVersion, or in that too with Form.Versions.
	Updated EventType = "Updated"
	// Deleted: an object has gone, or left the stream's selection. Object is what
	// was last kept of it.
	Deleted EventType = "Deleted"
	// Synced: the first list of an epoch is in. The objects in it are not announced
	// one by one.
	Synced EventType = "Synced"
	// StateChanged: the stream became Degraded or Live, or was refused. The steps
	// Probing and Starting are not announced, nor is Live when it comes with Synced.
	StateChanged EventType = "StateChanged"
)

// Event is what a Subscriber is told. Objects are those of the store: shared,
// projected, never to be changed.
type Event struct {
	Key  Key
	Type EventType
	// Object is set for Added, Updated and Deleted; Old for Updated.
	Object, Old *unstructured.Unstructured
	// State is that of the stream.
	State State
}

// EventHandler is told of changes in the streams that it keeps. Its dynamic type
// must be comparable: equal values are the same subscriber.
//
// Changed is called from the goroutine of a stream, or of an Observe or a Revoke
// by somebody else, with no lock held, and possibly from several at once. It holds
// up its stream: it must not block, nor call into Set; it hands over and returns. An
// event may be late, the View is the truth: a call that was under way when Keep
// took the need away may still arrive.
type EventHandler interface {
	Changed(Event)
}
