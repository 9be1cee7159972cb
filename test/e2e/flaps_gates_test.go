package e2e

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

// gates hold back the first lists of streams: the API server has accepted the
// request, and its answer does not arrive. Safe for concurrent use.
type gates struct {
	mu sync.Mutex
	// The rest is guarded by mu.
	armed map[string]*gate // by namespace
	count int              // of lists that were held
}

// gate is for one list.
type gate struct {
	resource string
	held     chan struct{} // closed when a list is held
	released chan struct{} // closed when it goes on
	taken    bool
}

func newGates() *gates { return &gates{armed: map[string]*gate{}} }

// arm makes the next first list of a resource in a namespace wait.
func (g *gates) arm(namespace, resource string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.armed[namespace] = &gate{resource: resource, held: make(chan struct{}), released: make(chan struct{})}
}

// held waits until the armed list is held; false: it was not for so long.
func (g *gates) held(ctx context.Context, namespace string, patience time.Duration) bool {
	g.mu.Lock()
	one := g.armed[namespace]
	g.mu.Unlock()
	select {
	case <-one.held:
		return true
	case <-time.After(patience):
	case <-ctx.Done():
	}
	return false
}

// open lets the list go on and disarms the gate.
func (g *gates) open(namespace string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if one := g.armed[namespace]; one != nil {
		close(one.released)
		delete(g.armed, namespace)
	}
}

func (g *gates) hits() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.count
}

// take returns the gate that the request runs into, if any.
func (g *gates) take(r *http.Request) *gate {
	query := r.URL.Query()
	if r.Method != http.MethodGet || query.Get("watch") != "" && query.Get("sendInitialEvents") != "true" {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for namespace, one := range g.armed {
		if !one.taken && strings.HasSuffix(r.URL.Path, "/namespaces/"+namespace+"/"+one.resource) {
			one.taken = true
			g.count++
			return one
		}
	}
	return nil
}

func (g *gates) wrap(next http.RoundTripper) http.RoundTripper {
	return gatedTransport(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK {
			return response, err
		}
		if one := g.take(r); one != nil {
			response.Body = &gatedBody{ReadCloser: response.Body, gate: one, cancelled: r.Context().Done(), closed: make(chan struct{})}
			close(one.held)
		}
		return response, nil
	})
}

type gatedTransport func(*http.Request) (*http.Response, error)

func (t gatedTransport) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// gatedBody can be read when its gate is open.
type gatedBody struct {
	io.ReadCloser
	gate      *gate
	cancelled <-chan struct{}
	closed    chan struct{}
	once      sync.Once
}

var errGated = errors.New("the answer was given up while it was held back")

func (b *gatedBody) Read(p []byte) (int, error) {
	select {
	case <-b.gate.released:
		return b.ReadCloser.Read(p)
	case <-b.cancelled:
	case <-b.closed:
	}
	return 0, errGated
}

func (b *gatedBody) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.ReadCloser.Close()
}
