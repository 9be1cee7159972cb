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
	"k8s.io/apimachinery/pkg/runtime/serializer/streaming"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
)

// maxEvent bounds one event, in bytes, as client-go does: no API server keeps objects that are larger by far.
const maxEvent = 16 << 20

// StreamSource makes a DynamicSource whose watches do not decode objects as a whole: decode makes of the
// JSON of each what the store takes. The JSON is valid (jsonwalk); decode must not keep it.
// client is one for objects of all groups, as client-go's dynamic client has. Its rate limit does not count here,
// as it does not for client-go's watches.
func StreamSource(objects dynamic.ResourceInterface, client rest.Interface, gvr schema.GroupVersionResource, namespace string, decode func([]byte) (runtime.Object, error)) Source {
	return streamSource{dynamicSource{objects}, client, objectclient.ResourcePath(gvr, namespace), namespace, decode}
}

type streamSource struct {
	dynamicSource
	client    rest.Interface
	path      []string
	namespace string
	decode    func([]byte) (runtime.Object, error)
}

// Watch implements Source.
func (s streamSource) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	if wrong := rest.IsValidPathSegmentName(s.namespace); len(wrong) > 0 {
		return nil, fmt.Errorf("invalid namespace %q: %v", s.namespace, wrong) // .. would be all of them
	}
	opts.Watch = true
	body, err := s.openStream(ctx, opts)
	if utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) { // of a connection that was in use before
		body, err = s.openStream(ctx, opts)
	}
	if err != nil {
		return nil, err
	}
	d := newEventDecoder(body, s.decode)
	// 500 and the reason are what client-go's own watches say.
	return watch.NewStreamWatcherWithLogger(klog.FromContext(ctx), d, apierrors.NewClientErrorReporter(http.StatusInternalServerError, "GET", "ClientWatchDecoding")), nil
}

func (s streamSource) openStream(ctx context.Context, opts metav1.ListOptions) (io.ReadCloser, error) {
	return s.client.Get().AbsPath(s.path...).SetHeader("Accept", runtime.ContentTypeJSON).Throttle(nil).
		SpecificallyVersionedParams(&opts, metav1.ParameterCodec, schema.GroupVersion{Version: "v1"}).Stream(ctx)
}

// eventDecoder is a watch.Decoder. It is for one goroutine, but for Close.
type eventDecoder struct {
	body   io.ReadCloser
	bound  *boundedReader
	values *jsontext.Decoder
	decode func([]byte) (runtime.Object, error)
}

func newEventDecoder(body io.ReadCloser, decode func([]byte) (runtime.Object, error)) *eventDecoder {
	bound := &boundedReader{from: body}
	return &eventDecoder{body: body, bound: bound, values: jsonwalk.NewDecoder(bound), decode: decode}
}

// boundedReader reads so many bytes and not more.
type boundedReader struct {
	from io.Reader
	left int
}

// Read implements io.Reader.
func (r *boundedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, streaming.ErrObjectTooLarge
	}
	n, err := r.from.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}

// Close implements watch.Decoder.
func (d *eventDecoder) Close() { _ = d.body.Close() } // a Decode that is under way fails

// Decode implements watch.Decoder.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	d.bound.left = maxEvent
	event, err := d.values.ReadValue()
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.ErrUnexpectedEOF // StreamWatcher compares with ==, and would tell of a wrapped one
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
	if w.NextKind() != '{' {
		return "", nil
	}
	w.EnterNested()
	for key, ok := w.NextKey(); ok; key, ok = w.NextKey() {
		switch {
		case string(key) == "type" && w.NextKind() == '"':
			kind = watch.EventType(w.ReadText())
		case string(key) == "object":
			object = w.SkipValue()
		default:
			w.SkipValue()
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
