package faultplan

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/test/sim"
)

// Violation is a promise that did not hold.
type Violation struct {
	// Invariant is its name.
	Invariant string
	// Text says what was seen.
	Text string
}

// String is one line.
func (v Violation) String() string { return v.Invariant + ": " + v.Text }

const (
	// idle is how long nothing is written until everything is taken to be at rest: longer
	// than any retry of Ambit's, which are a minute and a fifth of it at most, and than it says
	// that others undo what it writes, two minutes after the last time.
	idle = 130 * time.Second
	// glance is how often it is looked whether something was written.
	glance = 10 * time.Second
	// patience is how long it may take until everything is at rest.
	patience = 20 * time.Minute
	// stepPatience is how long a step waits for requests that do not come.
	stepPatience = 20 * time.Second
	// authorizerLag is how far the authorizer is behind.
	authorizerLag = 10 * time.Millisecond
	// settled is how long it takes until the authorizer has seen what was made.
	settled = time.Second
	// offBeat is how much later a step is, so that it is not at the very moment of something
	// else: which of two timers goes first is left to chance.
	offBeat = 3 * time.Microsecond
	// watching is how long it is looked on while nothing happens.
	watching = time.Minute
	// lastStep is how long the world stays as the last step has left it, before all is mended.
	lastStep = 10 * time.Second
)

// Run carries a plan out, in a bubble of testing/synctest, and returns what did not hold. It
// panics if a goroutine is left.
func Run(t *testing.T, p *Plan) (found []Violation) {
	apart, end := newBubbles(t)
	defer end()
	p.apart = apart
	synctest.Test(t, func(*testing.T) { found = carryOut(p) })
	return found
}

// carryOut is Run, in the bubble.
func carryOut(p *Plan) []Violation {
	w := newWorld(p)
	ctx, cancel := context.WithCancel(context.Background())
	var controllers sync.WaitGroup
	controllers.Go(func() { w.server.Run(ctx) })
	controllers.Go(func() { p.Scenario.control(ctx, w.server) })
	w.start()
	for _, s := range p.Steps {
		w.take(s)
	}
	time.Sleep(lastStep)
	w.pending.Wait()
	w.mend()
	w.removeCopies()
	w.removeUnlabelled()
	if w.processes() == 0 {
		w.start()
	}
	ended := w.agree()
	w.settle("the plan")
	w.judge.atRest(w)
	if w.grantAll() {
		for range ended {
			w.start()
		}
		w.settle("the grant of all rights")
		w.judge.atRest(w)
	}
	if p.Cleanup {
		w.cleanUp()
	}
	for w.processes() > 0 {
		w.end(false)
	}
	w.ended.Wait()
	w.judge.atEnd(w)
	cancel()
	controllers.Wait()
	return append(w.judge.found(), w.mistakes()...)
}

// agree leaves one process where two would say different things for ever, while rights are missing. One that cannot
// watch RBAC objects learns that it may not write when it next has to, as docs/permissions.md says: of two it may be
// the other one that does. And only one that has seen the policy before an edit knows which kinds it had, and that
// it cannot see what may be left of them. Each puts its own status in the place of the other's, more and more rarely. It returns how many
// have ended, which are started again when the rights are back.
func (w *World) agree() (ended int) {
	if w.mayActEverywhere() {
		return 0
	}
	for ; w.processes() > 1; ended++ {
		w.end(false)
	}
	return ended
}

// take carries out one step.
func (w *World) take(s Step) {
	do := s.Do
	s.Do = func(w *World) {
		w.trace.printf("step: %s", s.Text)
		do(w)
	}
	if s.Requests == 0 {
		time.Sleep(s.Time + offBeat)
		s.Do(w)
		return
	}
	due := &dueStep{left: s.Requests, do: s.Do, done: make(chan struct{})}
	w.mu.Lock()
	w.due = due
	w.mu.Unlock()
	select {
	case <-due.done:
		return
	case <-time.After(stepPatience):
	}
	w.mu.Lock()
	mine := w.due == due
	w.due = nil
	w.mu.Unlock()
	if !mine { // it is being done
		<-due.done
		return
	}
	w.trace.printf("%s without the request that the next step waits for", stepPatience)
	s.Do(w)
}

// rest waits until nothing is written any more.
func (w *World) rest(what string) {
	began, version := time.Now(), w.server.ResourceVersion()
	for still := began; time.Since(still) < idle; {
		time.Sleep(glance)
		if now := w.server.ResourceVersion(); now != version {
			still, version = time.Now(), now
		}
		if still.Sub(began) > patience {
			w.judge.violated("rest", "%s after %s there are still writes: %s", what, patience, w.judge.lastWrites())
			return
		}
	}
}

// mend ends all faults, and undoes what users have done that keeps objects from what they are to
// be, or from going: at the end of a plan, and where something does not go for long.
func (w *World) mend() {
	w.heal()
	w.putRight()
	w.unforge() // who owns what goes may wait for places that nobody can look at
}

// settle waits until everything is at rest, and what Ambit asks for is done.
func (w *World) settle(what string) {
	w.rest(what)
	if w.removeAbandoned() {
		w.rest("the end of what was in the way of others")
	}
}

// grantAll gives Ambit its rights back, and says whether one was missing.
func (w *World) grantAll() (some bool) {
	for _, namespace := range w.plan.Scenario.Namespaces {
		if !w.mayAct(namespace) {
			some = true
			w.create(roleBindings, bindingIn(namespace))
		}
	}
	return some
}

// cleanUp deletes all owners.
func (w *World) cleanUp() {
	before := w.server.Objects()
	for _, owner := range w.list(w.plan.Scenario.Owners) {
		if !w.judge.isMade(owner.GetUID()) {
			w.delete(w.plan.Scenario.Owners, owner.GetNamespace(), owner.GetName())
		}
	}
	w.rest("the deletion of owners")
	if unprotect := w.plan.Scenario.Unprotect; unprotect != nil {
		w.judge.checkProtected(w, before)
		unprotect(w)
		w.rest("the end of all protection")
	}
	w.judge.atCleanup(w)
}

// mistakes are those of this package.
func (w *World) mistakes() (found []Violation) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range w.problems {
		found = append(found, Violation{Invariant: "the plan itself", Text: text})
	}
	return found
}

// references are what is there when Ambit, undisturbed, works on what others made. Equal
// inputs have the same one: it is made once for them.
type references struct {
	mu    sync.Mutex
	known map[string]map[string]string
}

// maxReferences of a scenario are kept: most are of one plan alone, and an hour has many.
const maxReferences = 100

// of returns the reference of a world at rest.
func (r *references) of(w *World) (map[string]string, error) {
	inputs := inputsOf(w)
	key := inputs.key()
	r.mu.Lock()
	found, ok := r.known[key]
	r.mu.Unlock()
	if ok {
		return found, nil
	}
	err := fmt.Errorf("the bubble of the reference ended before it")
	w.plan.apart(func() { found, err = inputs.play(w) })
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil || len(r.known) >= maxReferences {
		r.known = map[string]map[string]string{}
	}
	r.known[key] = found
	return found, nil
}

// play has Ambit work on the inputs alone. It may watch RBAC objects, whether it could in the
// plan or not: the result is the same.
func (in *inputs) play(w *World) (map[string]string, error) {
	server := in.scenario.newServer(false, sim.Options{Seed: w.plan.Seed, AuthorizerLag: authorizerLag, Workloads: in.workloads})
	if err := in.create(server); err != nil {
		return nil, fmt.Errorf("making the reference: %w", err)
	}
	time.Sleep(settled)
	ctx, cancel := context.WithCancel(context.Background())
	var controllers sync.WaitGroup
	controllers.Go(func() { server.Run(ctx) })
	controllers.Go(func() { in.scenario.control(ctx, server) })
	defer controllers.Wait()
	defer cancel()
	p, err := startProcess(server, "reference", slices.Clone(w.programs), w.plan.Seed, 0)
	if err != nil {
		return nil, err
	}
	calm := &World{plan: w.plan, server: server, judge: newJudge(w.plan.Scenario)}
	calm.rest("the reference")
	if len(in.going) > 0 {
		if err := in.delete(server); err != nil {
			return nil, fmt.Errorf("making the reference: %w", err)
		}
		calm.rest("the reference of what is deleted")
	}
	p.finish()
	found := texts(server, w.known)
	for _, key := range in.scenario.heldBack(server.Objects()) {
		if w.isEdited() || ownerIn(found[key]) == "" { // in the plan they may never have been wanted; of others see isLate
			delete(found, key)
		}
	}
	return found, nil
}
