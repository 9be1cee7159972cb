package manager

import (
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/policysource"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// readiness answers /readyz, and /policies beside the metrics: 200 when this replica does
// what it can, with a text for people. It is safe for concurrent use.
type readiness struct {
	elected bool // leadership has to be won

	mu    sync.Mutex // guards what is below; held over no call
	phase processPhase
	parts *parts // set with leading
}

// processPhase is how far a process has come.
type processPhase int

const (
	// starting: the API server has not answered yet.
	starting processPhase = iota
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

// setConnected notes that the API server has answered.
func (r *readiness) setConnected() { r.advanceTo(waiting, nil) }

// setLeading notes that the engine is about to run.
func (r *readiness) setLeading(made *parts) { r.advanceTo(leading, made) }

// setStopped notes that nothing is done any more.
func (r *readiness) setStopped() { r.advanceTo(stopping, nil) }

func (r *readiness) advanceTo(to processPhase, made *parts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if to > r.phase {
		r.phase, r.parts = to, made
	}
}

// isLeading says whether this replica works.
func (r *readiness) isLeading() bool {
	phase, _ := r.currentPhase()
	return phase == leading
}

func (r *readiness) currentPhase() (processPhase, *parts) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase, r.parts
}

// ServeHTTP implements http.Handler. It answers everybody, so its text has no names: no
// policy, no namespace, no path.
func (r *readiness) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	report := r.reportNow()
	writeResponse(w, report.ready, report.summary)
}

// serveNames answers who is authenticated and authorized: what the probe says, and which
// policies it is about.
func (r *readiness) serveNames(w http.ResponseWriter, _ *http.Request) {
	report := r.reportNow()
	writeResponse(w, report.ready, append(report.summary, report.names...))
}

func writeResponse(w http.ResponseWriter, ready bool, lines []string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if !ready {
		w.WriteHeader(http.StatusServiceUnavailable)
	}
	fmt.Fprintln(w, strings.Join(lines, "\n"))
}

// report says whether this replica does what it can.
type report struct {
	ready bool
	// summary has no names: anybody may read it.
	summary []string
	// names say which policies the summary counts, and which places cannot be read.
	names []string
}

func (r *readiness) reportNow() report {
	switch phase, made := r.currentPhase(); {
	case phase == starting:
		return report{summary: []string{"starting: the API server has not answered yet"}}
	case phase == waiting && r.elected:
		return report{ready: true, summary: []string{"ready: waiting for leadership"}}
	case phase == waiting:
		return report{summary: []string{"starting"}}
	case phase == stopping:
		return report{summary: []string{"stopping"}}
	default:
		return made.reportParts()
	}
}

// mostShort is how many policies are named that do not do all of their work.
const mostShort = 50

// reportParts says whether the policies were read, and how many of them do not do all of their
// work.
func (made *parts) reportParts() report {
	r := report{ready: true, summary: []string{fmt.Sprintf("ready: policies: %d", len(made.controller.Owners()))}}
	if made.source == nil {
		halted := haltedLines(made.controller.PolicyErrors())
		r.countPolicies(len(halted), "cannot do all of its work", "cannot do all of their work")
		r.names = boundedLines(halted)
		return r
	}
	read, text := made.source.Ready()
	if !read {
		return report{summary: []string{"the policies are not read yet, or the engine refuses them"}, names: []string{text}}
	}
	if text != "" {
		r.summary, r.names = append(r.summary, "not all policies can be read"), []string{text}
	}
	r.addShortfalls(made.source.NotReadyPolicies())
	return r
}

// addShortfalls counts the policies that do not do all of their work, and names them.
func (r *report) addShortfalls(short []policysource.NotReady) {
	unready := 0
	for _, s := range short {
		if !s.Ready {
			unready++
		}
	}
	r.countPolicies(unready, "is not ready", "are not ready")
	r.countPolicies(len(short)-unready, "cannot do all of its work", "cannot do all of their work")
	r.names = append(r.names, boundedLines(shortLines(short))...)
}

// countPolicies adds a line on a number of policies to the summary, unless there are none.
func (r *report) countPolicies(policies int, one, several string) {
	switch {
	case policies == 1:
		r.summary = append(r.summary, "1 policy "+one)
	case policies > 1:
		r.summary = append(r.summary, fmt.Sprintf("%d policies %s", policies, several))
	}
}

func haltedLines(halts []controller.PolicyError) []string {
	var lines []string
	for _, h := range halts {
		lines = append(lines, fmt.Sprintf("policy %s cannot do all of its work: %s", h.Policy, h.Reason))
	}
	return lines
}

func shortLines(short []policysource.NotReady) []string {
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
func whichPolicy(s policysource.NotReady) string {
	name := "policy " + s.Name
	if s.Name == "" {
		name = "a policy without a name"
	}
	if s.Origin.Kind == manifest.File {
		return name + " in a file"
	}
	return name + " (" + s.Origin.String() + ")"
}

// boundedLines cuts a list to the lines that an answer has room for.
func boundedLines(lines []string) []string {
	if more := len(lines) - mostShort; more > 0 {
		return append(lines[:mostShort:mostShort], fmt.Sprintf("and %d policies more", more))
	}
	return lines
}
