package faultplan

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/sim"
)

// World is a simulated cluster with Ambit on it, in which a plan is carried out. Actions
// work on it one at a time.
type World struct {
	plan    *Plan
	server  *sim.Server
	admin   dynamic.Interface
	judge   *judge
	trace   *trace
	ended   sync.WaitGroup                        // processes that are being ended
	pending sync.WaitGroup                        // actions that come later
	known   map[*unstructured.Unstructured]string // texts; only of who carries the plan out

	// editing is held while a process starts, and while the policy is edited: each has the policy that
	// there is, as Ambit reads its policies for as long as it runs. It is taken before mu.
	editing sync.Mutex

	mu        sync.Mutex // guards what is below; never held over a call of the server
	programs  []*policy.Program
	edited    bool            // programs were others before
	forgotten map[string]bool // kinds that programs made beside owners, and no process remembers
	running   []*process
	started   int
	dead      map[string]bool // processes that have no effect any more
	reads     int             // of Ambit: lists and gets
	due       *dueStep        // that waits for requests; nil: none does
	answers   []answer        // for requests to come
	disturbed map[string]disturbance
	webhooks  []*webhook
	hooked    bool          // there was one
	clockOff  time.Duration // of processes to come
	copied    []child       // in whose place somebody put an object of their own
	problems  []string      // mistakes of the plan itself, and of this package
}

// dueStep is a step that waits for requests.
type dueStep struct {
	left int
	do   func(*World)
	done chan struct{}
}

// answer is what becomes of the next requests of Ambit that match.
type answer struct {
	times   int
	matches func(sim.Request) bool
	before  func(sim.Request) error // nil: it is handled
	after   func(sim.Request) error // the answer in place of its own; nil: its own
	delay   time.Duration
}

// disturbance is what becomes of the streams of a resource; see sim.Delivery.
type disturbance struct {
	lag    time.Duration
	until  time.Time // of lag
	end    bool      // at the next event, once
	expire bool      // the same, with a 410
	// process is the only one whose streams are disturbed; empty: those of all.
	process string
}

var _ sim.Faults = (*World)(nil)

// newWorld is a cluster as it is before a plan, and who carries the plan out.
func newWorld(p *Plan) *World {
	w := &World{plan: p, dead: map[string]bool{}, forgotten: map[string]bool{}, disturbed: map[string]disturbance{}, programs: p.Scenario.Versions[:1]}
	w.trace = newTrace(p.Trace)
	w.judge = newJudge(p.Scenario)
	w.judge.trace = w.trace
	w.server = p.Scenario.newServer(p.Blind, sim.Options{Seed: p.Seed, AuthorizerLag: authorizerLag, Workloads: p.Workloads, Faults: w, Admission: w.admit, Observer: w.judge.observe})
	w.admin, w.known = w.server.As(sim.Admin).Dynamic(), maps.Clone(p.Scenario.preparedBase().texts)
	w.judge.begin(w.server)
	return w
}

// Before implements sim.Faults.
func (w *World) Before(ctx context.Context, r sim.Request) error {
	if r.User != User {
		return nil
	}
	if do := w.count(r); do != nil {
		do()
	}
	w.pace(r)
	w.mu.Lock()
	if w.dead[r.Process] {
		w.mu.Unlock()
		w.trace.printRequest(r, errNoConnection)
		return errNoConnection
	}
	a := w.answerLocked(r, func(a answer) bool { return a.after == nil })
	w.mu.Unlock()
	w.judge.noteSent(r)
	if a == nil {
		return nil
	}
	if a.delay > 0 {
		writes := w.judge.writesBeside(r.Process)
		select {
		case <-time.After(a.delay):
		case <-ctx.Done(): // it is not handled: after a good end nothing comes late
			w.trace.printRequest(r, ctx.Err())
			return ctx.Err()
		}
		if isWrite(r) && w.judge.writesBeside(r.Process) != writes {
			w.judge.overtake(r)
		}
	}
	if a.before == nil {
		return nil
	}
	err := a.before(r)
	if err != nil { // the server is not asked, and After not called
		w.trace.printRequest(r, err)
	}
	return err
}

// pace has requests take time where too many are sent.
func (w *World) pace(r sim.Request) {
	w.mu.Lock()
	alone, dead := len(w.running) < 2, w.dead[r.Process]
	w.mu.Unlock()
	switch {
	case dead:
	case !alone:
		if latency := w.judge.twoAtOnce(time.Now()); latency > 0 {
			time.Sleep(latency)
		}
	case w.judge.judgePace(r, time.Now()):
		time.Sleep(stepPatience) // it has failed, and the plan is to end
	}
}

// After implements sim.Faults.
func (w *World) After(_ context.Context, r sim.Request, own error) (err error) {
	if r.User != User {
		return own
	}
	w.judge.noteAnswered(r, own)
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { w.trace.printRequest(r, err) }()
	if w.dead[r.Process] {
		return errNoConnection
	}
	if a := w.answerLocked(r, func(a answer) bool { return a.after != nil }); a != nil {
		return a.after(r)
	}
	return own
}

// Stream implements sim.Faults.
func (w *World) Stream(r sim.Request) sim.Stream {
	if r.User != User {
		return nil
	}
	return w.streamOf(r)
}

var errNoConnection = fmt.Errorf("connection refused")

// count counts a request, and returns the step that is due with it.
func (w *World) count(r sim.Request) func() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dead[r.Process] {
		return nil
	}
	if r.Verb == "list" || r.Verb == "get" {
		w.reads++
	}
	if w.due == nil {
		return nil
	}
	if w.due.left--; w.due.left > 0 {
		return nil
	}
	due := w.due
	w.due = nil
	return func() {
		due.do(w)
		close(due.done)
	}
}

// answerLocked takes the answer that is meant for a request; nil: there is none.
func (w *World) answerLocked(r sim.Request, of func(answer) bool) *answer {
	i := slices.IndexFunc(w.answers, func(a answer) bool { return of(a) && a.matches(r) })
	if i < 0 {
		return nil
	}
	a := w.answers[i]
	if w.answers[i].times--; w.answers[i].times == 0 {
		w.answers = slices.Delete(w.answers, i, i+1)
	}
	return &a
}

// start starts a process.
func (w *World) start() {
	w.editing.Lock()
	defer w.editing.Unlock()
	w.mu.Lock()
	w.started++
	w.forgetLocked()
	name, programs, seed := fmt.Sprintf("process-%d", w.started), w.programs, w.plan.Seed+uint64(w.started)<<32
	off := w.clockOff
	w.mu.Unlock()
	w.judge.starts(name)
	p, err := startProcess(w.server, name, programs, seed, off)
	if err != nil {
		w.problem("starting %s: %v", name, err)
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running = append(w.running, p)
}

// end ends the oldest process: by a kill, from which moment it has no effect any more, or
// in good order.
func (w *World) end(kill bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.running) == 0 {
		return
	}
	p := w.running[0]
	w.running = w.running[1:]
	w.dead[p.name] = kill
	w.ended.Go(p.finish)
}

// killFor kills the process that has run the longest, if there is one, and starts another one after a pause.
func (w *World) killFor(pause time.Duration) {
	w.end(true)
	w.later(pause, (*World).start)
}

// processes is how many there are.
func (w *World) processes() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.running)
}

// each calls do for the processes there are.
func (w *World) each(do func(*process)) {
	w.mu.Lock()
	all := slices.Clone(w.running)
	w.mu.Unlock()
	for _, p := range all {
		do(p)
	}
}

func (w *World) problem(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.problems = append(w.problems, fmt.Sprintf(format, args...))
}

// What users do. An object that is there already, or not there, is no mistake: the step
// before may have been dropped.

func (w *World) create(resource schema.GroupVersionResource, obj *unstructured.Unstructured) {
	_, err := w.admin.Resource(resource).Namespace(obj.GetNamespace()).Create(context.Background(), obj, metav1.CreateOptions{FieldManager: "user"})
	w.checked("creating", obj.GetKind(), err)
}

func (w *World) delete(resource schema.GroupVersionResource, namespace, name string) {
	err := w.admin.Resource(resource).Namespace(namespace).Delete(context.Background(), name, metav1.DeleteOptions{})
	w.checked("deleting", resource.Resource, err)
}

func (w *World) patch(resource schema.GroupVersionResource, namespace, name, patch string, subresources ...string) {
	_, err := w.admin.Resource(resource).Namespace(namespace).Patch(context.Background(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "user"}, subresources...)
	w.checked("patching", resource.Resource, err)
}

func (w *World) checked(did, what string, err error) {
	switch {
	case err == nil, apierrors.IsNotFound(err), apierrors.IsAlreadyExists(err), apierrors.IsForbidden(err), apierrors.IsInvalid(err):
	default:
		w.problem("%s %s: %v", did, what, err)
	}
}

func (w *World) list(resource schema.GroupVersionResource) []unstructured.Unstructured {
	list, err := w.admin.Resource(resource).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		if !apierrors.IsNotFound(err) {
			w.problem("listing %s: %v", resource.Resource, err)
		}
		return nil
	}
	return list.Items
}
