package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// deletions notes what Ambit deletes and takes back, as it is on the wire. Safe for
// concurrent use.
type deletions struct {
	mu sync.Mutex
	// The rest is guarded by mu.
	list   []deletion
	used   bool // by an Ambit
	before hook // asked before a request is sent; an error is its answer
	after  hook // told of a write that has been answered; an error is its answer
}

// hook is given a request and, of a write, its body. Nil does nothing.
type hook func(r *http.Request, body []byte) error

func (h hook) call(r *http.Request, body []byte) error {
	if h == nil {
		return nil
	}
	return h(r, body)
}

// deletion is a request to delete an object, or to take fields of ours back.
type deletion struct {
	path string // as in "secrets home/name", or "release namespaces/name"
	uid  string // that it was for
	code int
}

func (d *deletions) wrap(next http.RoundTripper) http.RoundTripper {
	d.mu.Lock()
	d.used = true
	d.mu.Unlock()
	return gatedTransport(func(r *http.Request) (*http.Response, error) {
		body, err := pruneBody(r)
		if err != nil {
			return nil, err
		}
		before, after := d.hooks()
		if err := before.call(r, body); err != nil {
			return nil, err
		}
		response, err := next.RoundTrip(r)
		if err != nil || r.Method == http.MethodGet || strings.Contains(r.URL.Path, "/selfsubject") {
			return response, err
		}
		d.note(r, body, response.StatusCode)
		if err := after.call(r, body); err != nil {
			_ = response.Body.Close()
			return nil, err
		}
		return response, nil
	})
}

func (d *deletions) isUsed() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used
}

func (d *deletions) hooks() (before, after hook) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.before, d.after
}

// hook sets what is asked before a request and told after a write.
func (d *deletions) hook(before, after hook) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.before, d.after = before, after
}

func pruneBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	return body, nil
}

func (d *deletions) note(r *http.Request, body []byte, code int) {
	one := deletion{path: prunePath(r.URL.Path), code: code}
	switch {
	case r.Method == http.MethodDelete:
		var options struct{ Preconditions struct{ UID string } }
		_ = json.Unmarshal(body, &options) // what is not JSON has no precondition that can be seen
		one.uid = options.Preconditions.UID
	case r.Method == http.MethodPatch && strings.HasPrefix(one.path, "namespaces ") && !bytes.Contains(body, []byte("prune.example.com/item")):
		one.path = "release " + one.path
	default:
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

// prunePath is the resource and the name that a path of the API is about.
func prunePath(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if parts[0] == "api" {
		parts = parts[2:]
	} else {
		parts = parts[3:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		return strings.Join(append([]string{parts[2] + " " + parts[1]}, parts[3:]...), "/")
	}
	return parts[0] + " " + strings.Join(parts[1:], "/")
}

// done are the requests that came through, in their order.
func (d *deletions) done() []deletion {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(d.list), func(one deletion) bool { return one.code >= 300 })
}

// releases are those that took fields back.
func (d *deletions) releases() []deletion {
	return slices.DeleteFunc(d.done(), func(one deletion) bool { return !strings.HasPrefix(one.path, "release") })
}
