package informer

import (
	"fmt"
	"sync/atomic"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
)

// environment is what the informers of a Set have in common.
type environment struct {
	options  Options // with defaults
	connect  func(Key) (listwatch.Source, error)
	requests *listwatch.Factory
	epochs   atomic.Uint64 // the last one given out
}

// newEnvironment makes an environment of options with defaults. onRecovery is called when the
// API server answers again after an outage.
func newEnvironment(o Options, onRecovery func()) *environment {
	e := &environment{
		options: o,
		connect: func(key Key) (listwatch.Source, error) { return connectSource(o.Clients, key) },
		requests: listwatch.NewFactory(listwatch.Options{
			Clock: o.Clock, Reconnect: o.Reconnect, Jitter: o.Jitter, Opening: o.Opening, Reopens: o.Reopens, OnRecovery: onRecovery,
		}),
	}
	e.requests.SetReauthorize(o.Reauthorize)
	return e
}

// connectSource makes the source of a key from the clients of its identity.
func connectSource(clients func(string) (dynamic.Interface, metadata.Interface, error), key Key) (listwatch.Source, error) {
	objects, meta, err := clients(key.Identity)
	if err != nil {
		return nil, fmt.Errorf("making clients for %q: %w", key.Identity, err)
	}
	if key.Form.Metadata {
		return listwatch.MetadataSource(meta.Resource(key.GVR).Namespace(key.Namespace)), nil
	}
	return listwatch.DynamicSource(objects.Resource(key.GVR).Namespace(key.Namespace)), nil
}

// epochBackoff returns how long to wait before the next epoch, after so many refusals in a
// row.
func (e *environment) epochBackoff(class listwatch.Class, refusals int) time.Duration {
	switch {
	case class == listwatch.Missing:
		return e.options.Lookup(refusals)
	case class.IsFinal():
		return e.options.Retry(refusals)
	}
	return e.options.Reconnect(refusals)
}
