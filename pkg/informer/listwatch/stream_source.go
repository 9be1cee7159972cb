package listwatch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// StreamSource makes a DynamicSource whose watches do not decode objects as a whole: decode makes of the
// JSON of each what the store takes. The JSON is valid (jsonwalk), and used again after decode returns.
// client is one for objects of all groups, as client-go's dynamic client has.
func StreamSource(objects dynamic.ResourceInterface, client rest.Interface, gvr schema.GroupVersionResource, namespace string, decode func([]byte) (runtime.Object, error)) Source {
	path := []string{"apis", gvr.Group, gvr.Version}
	if gvr.Group == "" {
		path = []string{"api", gvr.Version}
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return streamSource{dynamicSource{objects}, client, append(path, gvr.Resource), decode}
}

type streamSource struct {
	dynamicSource
	client rest.Interface
	path   []string
	decode func([]byte) (runtime.Object, error)
}

// Watch implements Source.
func (s streamSource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	opts.Watch = true
	body, err := s.client.Get().AbsPath(s.path...).SetHeader("Accept", runtime.ContentTypeJSON).
		SpecificallyVersionedParams(&opts, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).Stream(ctx)
	if err != nil {
		return nil, err
	}
	d := &eventDecoder{body: body, values: jsonwalk.NewDecoder(body), decode: s.decode}
	// 500 and the reason are what client-go's own watches say.
	return watch.NewStreamWatcherWithLogger(klog.FromContext(ctx), d, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")), nil
}

// eventDecoder is a watch.Decoder. It is for one goroutine, but for Close.
type eventDecoder struct {
	body   io.ReadCloser
	values *jsontext.Decoder
	decode func([]byte) (runtime.Object, error)
}

// Close implements watch.Decoder.
func (d *eventDecoder) Close() { _ = d.body.Close() } // a Decode that is under way fails

// Decode implements watch.Decoder.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	event, err := d.values.ReadValue()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.ErrUnexpectedEOF // as such the end of a connection is none that is told
	}
	if err != nil {
		return "", nil, err
	}
	kind, data := splitEvent(event)
	object, err := d.decodeObject(kind, data)
	if err != nil {
		return "", nil, fmt.Errorf("decoding an event of type %q: %w", kind, err)
	}
	return kind, object, nil
}

// splitEvent returns the type and the object of a metav1.WatchEvent.
func splitEvent(event []byte) (kind watch.EventType, object []byte) {
	w := jsonwalk.New(event)
	if w.Kind() != '{' {
		return "", nil
	}
	w.Enter()
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		switch {
		case string(key) == "type" && w.Kind() == '"':
			kind = watch.EventType(w.Text())
		case string(key) == "object":
			object = w.Skip()
		default:
			w.Skip()
		}
	}
	return kind, object
}

// decodeObject decodes as a whole what is no object of the store.
func (d *eventDecoder) decodeObject(kind watch.EventType, data []byte) (runtime.Object, error) {
	switch kind {
	case watch.Added, watch.Modified, watch.Deleted:
		return d.decode(data)
	case watch.Bookmark:
		bookmark := &unstructured.Unstructured{}
		return bookmark, bookmark.UnmarshalJSON(data)
	case watch.Error:
		status := &metav1.Status{}
		return status, json.Unmarshal(data, status)
	}
	return nil, fmt.Errorf("a watch has no such events")
}
