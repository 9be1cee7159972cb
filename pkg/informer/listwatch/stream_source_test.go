package listwatch

import (
	"context"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/objectclient"
)

// answer is what an API server says to a watch.
type answer struct {
	code int
	body string
	err  error // of reading the body, at its end
}

// RoundTrip implements http.RoundTripper.
func (a answer) RoundTrip(r *http.Request) (*http.Response, error) {
	body := io.MultiReader(strings.NewReader(a.body), errorReader{a.err})
	return &http.Response{
		StatusCode: a.code, Status: http.StatusText(a.code), Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(body), Request: r,
	}, nil
}

// errorReader fails, or has an end.
type errorReader struct{ err error }

func (r errorReader) Read([]byte) (int, error) {
	if r.err == nil {
		return 0, io.EOF
	}
	return 0, r.err
}

// newSources makes both sources of the objects of a namespace, with the server's answers.
func newSources(t *testing.T, server http.RoundTripper) (dynamic, streaming Source) {
	t.Helper()
	client, err := objectclient.NewForConfigAndClient(&rest.Config{Host: "http://api", QPS: -1}, &http.Client{Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	objects := client.Resource(gvr).Namespace("ns")
	decode := func(data []byte) (runtime.Object, error) {
		object := &unstructured.Unstructured{}
		return object, object.UnmarshalJSON(data)
	}
	return DynamicSource(objects), StreamSource(objects, client.RESTClient(), gvr, "ns", decode)
}

// told is what a watch told of.
type told struct {
	Type   watch.EventType
	Object map[string]any
	Err    string
}

// follow returns all events of a watch, and the error of opening it.
func follow(t *testing.T, source Source) ([]told, string) {
	t.Helper()
	w, err := source.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err.Error()
	}
	defer w.Stop()
	var events []told
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			events = append(events, told{Type: event.Type, Err: apierrors.FromObject(event.Object).Error()})
			continue
		}
		events = append(events, told{Type: event.Type, Object: event.Object.(*unstructured.Unstructured).Object})
	}
	return events, ""
}

// TestStreamSource: a watch tells what client-go's tells, to the word where it is an error of the
// API server.
func TestStreamSource(t *testing.T) {
	const (
		added    = `{"type":"ADDED","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a","generation":1}}}`
		deleted  = `{"object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"a"}},"type":"DELETED"}`
		bookmark = `{"type":"BOOKMARK","object":{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"resourceVersion":"7","annotations":{"k8s.io/initial-events-end":"true"}}}}`
		gone     = `{"type":"ERROR","object":{"apiVersion":"v1","kind":"Status","status":"Failure","message":"too old","reason":"Expired","code":410}}`
	)
	for name, tc := range map[string]struct {
		reason string
		answer answer
		events int
		other  bool // the words differ
	}{
		"Nothing":   {reason: "The API server may end a watch at any time.", answer: answer{code: 200}},
		"Events":    {reason: "One after the other.", answer: answer{code: 200, body: added + "\n" + bookmark + deleted + "\n\n"}, events: 3},
		"Error":     {reason: "An error of the API server is one of its events.", answer: answer{code: 200, body: added + gone}, events: 2},
		"CutOff":    {reason: "What is cut off is left out.", answer: answer{code: 200, body: added + added[:40]}, events: 1},
		"Reset":     {reason: "A connection may end as well.", answer: answer{code: 200, body: added, err: io.ErrUnexpectedEOF}, events: 1},
		"Invalid":   {reason: "What is no JSON is an error.", answer: answer{code: 200, body: added + "{x"}, events: 2, other: true},
		"Unknown":   {reason: "So is an event that nobody knows.", answer: answer{code: 200, body: `{"type":"MOVED","object":{"kind":"Deployment"}}`}, events: 1, other: true},
		"NoObject":  {reason: "And one without an object.", answer: answer{code: 200, body: `{"type":"ADDED"}`}, events: 1, other: true},
		"NoEvent":   {reason: "And another value.", answer: answer{code: 200, body: `["ADDED"]`}, events: 1, other: true},
		"Forbidden": {reason: "A refusal is an error of the request.", answer: answer{code: 403, body: `{"apiVersion":"v1","kind":"Status","status":"Failure","message":"no","reason":"Forbidden","code":403}`}},
		"NotFound":  {reason: "Also one in words of its own.", answer: answer{code: 404, body: "404 page not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			dynamic, streaming := newSources(t, tc.answer)
			want, wantErr := follow(t, dynamic)
			got, gotErr := follow(t, streaming)
			if tc.other {
				for i := range want {
					want[i].Err = ""
				}
				for i := range got {
					got[i].Err = ""
				}
			}
			if diff := cmp.Diff(want, got); diff != "" || gotErr != wantErr || len(got) != tc.events {
				t.Errorf("%s\nit told of %d events, want %d; error %q, client-go's is %q; (-client-go +it):\n%s", tc.reason, len(got), tc.events, gotErr, wantErr, diff)
			}
		})
	}
}

// recorder keeps what was asked for.
type recorder struct{ asked []string }

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, request.URL.String()+" "+request.Header.Get("Accept"))
	return answer{code: 200}.RoundTrip(request)
}

// TestStreamSourceRequest: the request is that of client-go.
func TestStreamSourceRequest(t *testing.T) {
	server := &recorder{}
	dynamic, streaming := newSources(t, server)
	opts := metav1.ListOptions{
		LabelSelector: "a=b,c", FieldSelector: "metadata.name=x", ResourceVersion: "7", AllowWatchBookmarks: true,
		TimeoutSeconds: new(int64(300)), SendInitialEvents: new(true), ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan,
	}
	for _, source := range []Source{dynamic, streaming} {
		w, err := source.Watch(t.Context(), opts)
		if err != nil {
			t.Fatal(err)
		}
		w.Stop()
	}
	if len(server.asked) != 2 || server.asked[0] != server.asked[1] || !strings.Contains(server.asked[1], "/apis/apps/v1/namespaces/ns/deployments?") {
		t.Errorf("client-go and the source ask for\n%s", strings.Join(server.asked, "\n"))
	}
}

// failing answers by an error so many times.
type failing struct {
	times int
	err   error
}

// RoundTrip implements http.RoundTripper.
func (f *failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if f.times--; f.times >= 0 {
		return nil, f.err
	}
	return answer{code: 200}.RoundTrip(r)
}

// TestStreamSourceReconnects: a connection that has gone unnoticed costs a watch nothing; that
// there is none is an error.
func TestStreamSourceReconnects(t *testing.T) {
	for name, tc := range map[string]struct {
		server failing
		err    string
	}{
		"EOF":     {server: failing{times: 1, err: io.EOF}},
		"Reset":   {server: failing{times: 1, err: syscall.ECONNRESET}},
		"Twice":   {server: failing{times: 2, err: io.EOF}, err: "EOF"},
		"Refused": {server: failing{times: 1, err: syscall.ECONNREFUSED}, err: "connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			_, streaming := newSources(t, &tc.server)
			if events, err := follow(t, streaming); len(events) != 0 || !strings.HasSuffix(err, tc.err) || (err == "") != (tc.err == "") {
				t.Errorf("it told of %v, error %q, want %q", events, err, tc.err)
			}
		})
	}
}

// TestStreamSourceNamespace: no namespace leads out of its path.
func TestStreamSourceNamespace(t *testing.T) {
	server := &recorder{}
	client, err := objectclient.NewForConfigAndClient(&rest.Config{Host: "http://api"}, &http.Client{Transport: server})
	if err != nil {
		t.Fatal(err)
	}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	for _, namespace := range []string{"..", ".", "a/b", "%2e%2e"} {
		source := StreamSource(client.Resource(gvr).Namespace(namespace), client.RESTClient(), gvr, namespace, nil)
		if _, err := source.Watch(t.Context(), metav1.ListOptions{}); err == nil {
			t.Errorf("%q was taken for a namespace", namespace)
		}
	}
	if len(server.asked) > 0 {
		t.Errorf("it asked for %v", server.asked)
	}
}

// TestStreamSourceUnlimited: the client's rate limit is for other requests, as with client-go.
func TestStreamSourceUnlimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, err := objectclient.NewForConfigAndClient(&rest.Config{Host: "http://api", QPS: 0.001, Burst: 1}, &http.Client{Transport: answer{code: 200}})
		if err != nil {
			t.Fatal(err)
		}
		gvr, began := schema.GroupVersionResource{Version: "v1", Resource: "secrets"}, time.Now()
		source := StreamSource(client.Resource(gvr), client.RESTClient(), gvr, "", nil)
		for range 4 {
			if events, err := follow(t, source); len(events) > 0 || err != "" {
				t.Errorf("it told of %v, error %s", events, err)
			}
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("four watches waited for %s", took)
		}
	})
}

// TestStreamSourceBound: each event is bounded, not all of them together.
func TestStreamSourceBound(t *testing.T) {
	event := `{"type":"ADDED","object":{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"` + strings.Repeat("x", maxEvent/3) + `"}}}`
	_, streaming := newSources(t, answer{code: 200, body: event + event + event + event})
	if events, err := follow(t, streaming); len(events) != 4 || err != "" {
		t.Errorf("of four large events it told of %d, error %q", len(events), err)
	}
	_, streaming = newSources(t, answer{code: 200, body: event + strings.Repeat("[", 10) + strings.Repeat(" ", 2*maxEvent)})
	events, _ := follow(t, streaming)
	if len(events) != 2 || !strings.Contains(events[1].Err, "object to decode was longer than maximum allowed size") {
		t.Errorf("of an event without an end it told as %v", events[len(events)-1].Err)
	}
}

// waiting has a body that has no end until it is closed.
type waiting struct{ body *io.PipeReader }

// RoundTrip implements http.RoundTripper.
func (s waiting) RoundTrip(r *http.Request) (*http.Response, error) {
	context.AfterFunc(r.Context(), func() { s.body.CloseWithError(r.Context().Err()) })
	return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {"application/json"}}, Body: s.body, Request: r}, nil
}

// TestStreamSourceStops: Stop ends a watch in which nothing happens.
func TestStreamSourceStops(t *testing.T) {
	body, server := io.Pipe()
	defer server.Close()
	_, streaming := newSources(t, waiting{body})
	w, err := streaming.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.Stop()
	for event := range w.ResultChan() { // it has an end; that the body was closed may be told, as by client-go
		if event.Type != watch.Error {
			t.Errorf("it told of %v", event)
		}
	}
}
