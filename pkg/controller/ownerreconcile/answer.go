package ownerreconcile

import (
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
)

// writerClient is a client that can leave it to others what is made of answers, as objectclient.Client.
type writerClient interface {
	WriterOf(gvr schema.GroupVersionResource, namespace string, decode func([]byte) (*unstructured.Unstructured, error)) objectclient.Writer
}

// writerFor returns what writes objects of a stream as a client does, and is answered with what the stream
// keeps of them: nothing else is made of the answers. ok is false if the client has no such thing, or
// there is no such stream.
func (p *Reconciler) writerFor(client dynamic.Interface, stream informer.Key, namespace string) (writer objectclient.Writer, ok bool) {
	from, ok := client.(writerClient)
	if !ok {
		return writer, false
	}
	decode := p.Informers.DecoderFor(stream)
	if decode == nil {
		return writer, false
	}
	return from.WriterOf(stream.GVR, namespace, decode), true
}

// observeAnswer has a stream show what a write was answered; isPartial: by a writer for that stream.
func (p *Reconciler) observeAnswer(stream informer.Key, object *unstructured.Unstructured, isPartial bool, by informer.EventHandler) {
	if isPartial {
		p.Informers.ObserveDecoded(stream, object, by)
		return
	}
	p.Informers.Observe(stream, object, by)
}

// holdEvents keeps the events of an object from a handler while a write of it is under way: an event that
// overtakes its answer would have the owner looked at once more for nothing. release is called when the answer
// was observed, with the object that it was, if any.
func (p *Reconciler) holdEvents(streams []informer.Key, name types.NamespacedName, handler informer.EventHandler) (release func(*unstructured.Unstructured)) {
	releases := make([]func(string), len(streams))
	for i, stream := range streams {
		releases[i] = p.Informers.HoldEvents(stream, name, handler)
	}
	return func(answer *unstructured.Unstructured) {
		resourceVersion := ""
		if answer != nil {
			resourceVersion = answer.GetResourceVersion()
		}
		for _, release := range releases {
			release(resourceVersion)
		}
	}
}

// holdOwnerEvents is holdEvents for the run's owner.
func (p *Reconciler) holdOwnerEvents(stream informer.Key) (release func(*unstructured.Unstructured)) {
	return p.holdEvents([]informer.Key{stream}, p.state.name, p.Owners)
}
