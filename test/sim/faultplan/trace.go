package faultplan

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/test/sim"
)

// trace writes what happens in a plan, for whoever looks into a failure. A nil trace writes
// nothing.
type trace struct {
	mu    sync.Mutex
	to    io.Writer
	began time.Time
}

func newTrace(to io.Writer) *trace {
	if to == nil {
		return nil
	}
	return &trace{to: to, began: time.Now()}
}

func (t *trace) printf(format string, args ...any) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = fmt.Fprintf(t.to, "%9.3f  %s\n", time.Since(t.began).Seconds(), fmt.Sprintf(format, args...))
}

// printRequest is of one of Ambit's, with its answer.
func (t *trace) printRequest(r sim.Request, answer error) {
	if t == nil || r.Resource.Group == "authorization.k8s.io" {
		return
	}
	t.printf("%s: %s %s %s %s/%s: %v", r.Process, r.Verb, r.Resource.Resource, r.Subresource, r.Namespace, r.Name, answer)
}

// printChange is of one that the server has accepted, of an object, with the lines that differ.
func (t *trace) printChange(c sim.Change, obj *unstructured.Unstructured) {
	if t == nil {
		return
	}
	lines := func(obj *unstructured.Unstructured) string {
		if obj == nil {
			return ""
		}
		short := obj.DeepCopy()
		short.SetManagedFields(nil)
		text, _ := short.MarshalJSON() // JSON-like by construction
		return inLines(string(text))
	}
	t.printf("%s %s %s %s", c.Request.User, c.Request.Verb, keyOf(obj), c.Request.Subresource)
	for line := range strings.Lines(cmp.Diff(lines(c.Old), lines(c.New))) {
		if strings.HasPrefix(line, "+") || strings.HasPrefix(line, "-") {
			t.printf("    %s", strings.TrimRight(line, "\n"))
		}
	}
}
