package informer

import (
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/informer/listwatch"
	"github.com/ambit-dev/ambit/pkg/informer/projection"
)

// environment is what the informers of a Set have in common.
type environment struct {
	options  Options // with defaults
	connect  func(Key, decoder) (listwatch.Source, error)
	requests *listwatch.Factory
	forms    projection.Pool
	epochs   atomic.Uint64 // the last one given out
	// onWatchError is told of the errors of an informer; nil if nobody is.
	onWatchError func(*sharedInformer, WatchError)
}

// newEnvironment makes an environment of options with defaults. onRecovery is called when the
// API server answers again after an outage.
func newEnvironment(o Options, onRecovery func()) *environment {
	e := &environment{
		options: o,
		connect: func(key Key, decode decoder) (listwatch.Source, error) {
			return connectSource(o.Clients, key, decode)
		},
		requests: listwatch.NewFactory(listwatch.Options{
			Clock: o.Clock, Reconnect: o.Reconnect, Jitter: o.Jitter, Opening: o.Opening, Reopens: o.Reopens, OnRecovery: onRecovery,
		}),
	}
	return e
}

// decoder makes the object that a store keeps of the JSON of an event, which must be valid.
type decoder = func(data []byte) (runtime.Object, error)

// restClient is a client for objects that gives the one for requests that it is made of, as Options.Clients
// says.
type restClient interface{ RESTClient() rest.Interface }

// connectSource makes the source of a key from the clients of its identity.
func connectSource(clients func(string) (dynamic.Interface, metadata.Interface, error), key Key, decode decoder) (listwatch.Source, error) {
	objects, meta, err := clients(key.Identity)
	if err != nil {
		return nil, fmt.Errorf("making clients for %q: %w", key.Identity, err)
	}
	if key.Form.Metadata {
		return listwatch.MetadataSource(meta.Resource(key.GVR).Namespace(key.Namespace)), nil
	}
	resource := objects.Resource(key.GVR).Namespace(key.Namespace)
	if streaming, ok := objects.(restClient); ok {
		return listwatch.StreamSource(resource, streaming.RESTClient(), key.GVR, key.Namespace, decode), nil
	}
	return listwatch.DynamicSource(resource), nil
}
