package manager

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/ambit-dev/ambit/pkg/engine"
	"github.com/ambit-dev/ambit/pkg/source"
)

// readiness answers /readyz: 200 when this replica does what it can, with a text for
// people. It is safe for concurrent use.
type readiness struct {
	elected bool // leadership has to be won

	mu    sync.Mutex // guards what is below; held over no call
	phase phase
	parts *parts // set with leading
}

// phase is how far a process has come.
type phase int

const (
	// starting: the API server has not answered yet.
	starting phase = iota
	// waiting for leadership.
	waiting
	// leading: the engine runs.
	leading
	// stopping: nothing is done any more.
	stopping
)

var _ http.Handler = (*readiness)(nil)

func newReadiness(e Election) *readiness {
	return &readiness{elected: e.Mode != "" && e.Mode != ElectionOff}
}

// reached notes that the API server has answered.
func (r *readiness) reached() { r.advance(waiting, nil) }

// leads notes that the engine is about to run.
func (r *readiness) leads(made *parts) { r.advance(leading, made) }

// stopped notes that nothing is done any more.
func (r *readiness) stopped() { r.advance(stopping, nil) }

func (r *readiness) advance(to phase, made *parts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to > r.phase {
		r.phase, r.parts = to, made
	}
}

// isLeading says whether this replica works.
func (r *readiness) isLeading() bool {
	phase, _ := r.now()
	return phase == leading
}

func (r *readiness) now() (phase, *parts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase, r.parts
}

// ServeHTTP implements http.Handler.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	ready, text := r.answer()
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, text)
}

func (r *readiness) answer() (ready bool, text string) {
	switch phase, made := r.now(); {
	case phase == starting:
		return false, "starting: the API server has not answered yet"
	case phase == waiting && r.elected:
		return true, "ready: waiting for leadership"
	case phase == waiting:
		return false, "starting"
	case phase == stopping:
		return false, "stopping"
	default:
		return made.ready()
	}
}

// mostShort is how many policies the answer names that do not do all of their work.
const mostShort = 50

// ready says whether the policies were read, or why not, and which of them do not do all
// of their work. The probe is for everybody: of policies there is nothing here but names and
// reasons.
func (made *parts) ready() (bool, string) {
	lines := []string{fmt.Sprintf("ready: policies: %d", len(made.engine.Owners()))}
	if made.source == nil {
		return true, strings.Join(append(lines, bounded(haltedLines(made.engine.Halted()))...), "\n")
	}
	read, text := made.source.Ready()
	if !read {
		return false, text
	}
	if text != "" {
		lines = append(lines, text)
	}
	return true, strings.Join(append(lines, bounded(shortLines(made.source.Shortfalls()))...), "\n")
}

func haltedLines(halts []engine.Halt) []string {
	var lines []string
	for _, h := range halts {
		lines = append(lines, fmt.Sprintf("policy %s cannot do all of its work: %s", h.Policy, h.Reason))
	}
	return lines
}

func shortLines(short []source.Shortfall) []string {
	var lines []string
	for _, s := range short {
		what := "is not ready"
		if s.Ready {
			what = "cannot do all of its work"
		}
		lines = append(lines, fmt.Sprintf("%s %s: %s", whichPolicy(s), what, s.Reason))
	}
	return lines
}

// whichPolicy names a policy, without the paths of files.
func whichPolicy(s source.Shortfall) string {
	name := "policy " + s.Name
	if s.Name == "" {
		name = "a policy without a name"
	}
	if s.Origin.Kind == source.File {
		return name + " in a file"
	}
	return name + " (" + s.Origin.String() + ")"
}

// bounded cuts a list to the lines that an answer has room for.
func bounded(lines []string) []string {
	if more := len(lines) - mostShort; more > 0 {
		return append(lines[:mostShort:mostShort], fmt.Sprintf("and %d policies more", more))
	}
	return lines
}
