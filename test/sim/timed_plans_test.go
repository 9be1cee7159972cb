package sim_test

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim/faultplan"
)

var (
	timedPlans = flag.Int("timed-plans", raced.Few(2, 20), "how many plans of faults TestTimedPlans runs")
	timedFirst = flag.Uint64("timed-first", 1, "the seed of the first plan of TestTimedPlans")
	timedSeed  = flag.Uint64("timed-seed", 0, "the seed of the only plan that TestTimedPlans runs, and tells of; 0: as many as there are to be")
)

// timedPlanPolicy asks the time in all ways. A run is noted in the status before anything is made for it: so a clock that is set back repeats
// none. The name of a run's child is the second at which it is.
const timedPlanPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: timed, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  variables:
    - {name: made, expression: string(timestamp(owner.metadata.creationTimestamp))}
    - {name: cron, expression: string(owner.spec.size % 20) + '-59/20 * * * *'}
    - {name: last, expression: "string(schedule(cron, 'UTC').last())"}
    - {name: noted, expression: "size(owner.?status.?nodes.orValue([])) > 0 ? owner.status.nodes[0] : made"}
  children:
    - id: run
      when: noted != made
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-run-${string(int(timestamp(noted)))}"}}
    - id: window
      when: schedule(cron, 'UTC').open(duration('WINDOW'))
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-window"}, data: {size: "${string(owner.spec.size)}"}}
    - id: later
      when: reached(timestamp(made) + duration(string(90 + owner.spec.size) + 'm'))
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-later"}}
    - id: brief
      when: "!reached(timestamp(made) + duration(string(10 * owner.spec.size) + 'm'))"
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}-brief"}}
  status: {nodes: ["${timestamp(last) > timestamp(noted) ? last : noted}"]}
  expire: reached(timestamp(made) + duration('40h'))
`

// setPolicy takes the policy with windows of a length, for processes to come.
func (p *timedPlan) setPolicy(window time.Duration) {
	p.Helper()
	p.window, p.programs = window, programs(p.T, strings.Replace(timedPlanPolicy, "WINDOW", window.String(), 1))
}

// TestTimedPlans: whatever ends and is lost, however the clock is set, and whenever: in the end all is as a plan of that instant says, and goes on
// so from wake to wake. No run is repeated, and nothing is done before its time.
func TestTimedPlans(t *testing.T) {
	var all timedFigures
	plans := ownPlans{name: "-timed-seed", count: *timedPlans, first: *timedFirst, only: *timedSeed}
	plans.play = func(t *testing.T, seed uint64) []faultplan.Violation {
		figures, found := playTimed(t, seed)
		all.add(figures)
		return found
	}
	ran := plans.run(t)
	t.Logf("%d plans: %+v", ran, all)
	if ran >= 20 && (all.Runs < 10*ran || all.Expired == 0 || all.Jumps < ran) {
		t.Error("that is too little to tell")
	}
}

// timedFigures say how much has happened in plans.
type timedFigures struct{ Runs, Expired, Jumps, Restarts, Wakes int }

func (f *timedFigures) add(other timedFigures) {
	f.Runs += other.Runs
	f.Expired += other.Expired
	f.Jumps += other.Jumps
	f.Restarts += other.Restarts
	f.Wakes += other.Wakes
}

// timedPlan is one plan of faults under way.
type timedPlan struct {
	*stage
	clock    *setClock
	faults   *mortals
	random   *rand.Rand
	window   time.Duration
	programs []*policy.Program // whose windows are that long
	engine   *controller.Controller
	user     string
	end      func() // of the process; nil: none runs
	judge    *judgeOfTime
	figures  timedFigures
}

// playTimed plays one plan, and returns what has happened in it, and what did not hold.
func playTimed(t *testing.T, seed uint64) (timedFigures, []faultplan.Violation) {
	random := rand.New(rand.NewPCG(seed, 2))
	c := &counts{all: map[string]int{}}
	p := &timedPlan{random: random, clock: &setClock{}}
	p.faults = &mortals{counts: c, random: rand.New(rand.NewPCG(seed, 3)), left: map[string]int{}, lossy: random.IntN(3) * 15}
	p.stage = newStageWith(t, true, c, p.faults)
	p.setPolicy(5 * time.Minute)
	p.create("clusterroles", "", mapsRole)
	ctx, cancel := context.WithCancel(t.Context())
	var controllers sync.WaitGroup
	controllers.Go(func() { p.server.Run(ctx) })
	p.judge = newJudgeOfTime(p.clock)
	unwatch := p.judge.watch(p.stage)
	p.addOwner("one")
	p.start()
	for range 4 + random.IntN(10) {
		p.step()
	}
	p.settle()
	p.end()
	unwatch()
	cancel()
	controllers.Wait()
	p.figures.Runs, p.figures.Expired = p.judge.runs, p.judge.expired
	return p.figures, p.judge.all()
}

const mapsRole = `{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: maps}, rules: [{apiGroups: [""], resources: [configmaps], verbs: [get, list, watch, create, patch, delete]}, {apiGroups: [cache.example.com], resources: [memcacheds], verbs: [delete]}]}`

// say tells of a plan that is looked at alone.
func (p *timedPlan) say(format string, args ...any) {
	if *timedSeed > 0 {
		p.Logf("%s, the clock at %s: %s", time.Now().UTC().Format("02 15:04:05"), p.clock.Now().UTC().Format("02 15:04:05"), fmt.Sprintf(format, args...))
	}
}

// start starts a process, as a user of its own.
func (p *timedPlan) start() {
	p.user = fmt.Sprintf("%s-%d", ambitUser, p.figures.Restarts)
	p.figures.Restarts++
	for _, role := range []string{"owners", "triggers", "maps"} {
		p.create("clusterrolebindings", "", bindingTo(role, p.user))
	}
	p.say("process %s starts", p.user)
	p.engine, p.end = startController(p.T, p.server, p.user, controller.Options{Programs: p.programs, Clock: p.clock})
}

func bindingTo(role, user string) string {
	return fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s-%s}, roleRef: {kind: ClusterRole, name: %s}, subjects: [{kind: User, name: %s}]}", role, user, role, user)
}

func (p *timedPlan) addOwner(namespace string) {
	if p.read(memcacheds, namespace, "cache") == nil {
		p.say("an owner is made in %s", namespace)
		p.owner(namespace, 1+p.random.IntN(30))
	}
}

// step does one thing that users or machines do.
func (p *timedPlan) step() {
	namespace := []string{"one", "two"}[p.random.IntN(2)]
	switch p.random.IntN(10) {
	case 0, 1:
		p.endProcess()
	case 2, 3, 4:
		p.moveClock()
	case 5:
		p.addOwner(namespace)
	case 6:
		p.editOwner(namespace)
	case 7:
		p.dropChild(namespace)
	case 8:
		p.takeRights()
	case 9:
		p.setPolicy(time.Duration(1+p.random.IntN(19)) * time.Minute)
		p.say("the policy is edited: windows of %s", p.window)
		if err := p.engine.Set(p.programs, nil); err != nil {
			p.Fatal(err)
		}
	}
	time.Sleep([]time.Duration{time.Second, time.Minute, time.Hour, 5 * time.Hour}[p.random.IntN(4)] * time.Duration(1+p.random.IntN(10)) / 4)
}

// endProcess ends the process after so many requests, or in good order, and starts another one after a while.
func (p *timedPlan) endProcess() {
	if p.random.IntN(2) == 0 {
		p.faults.mu.Lock()
		p.faults.left[p.user] = p.random.IntN(8)
		p.say("process %s ends after %d requests", p.user, p.faults.left[p.user])
		p.faults.mu.Unlock()
		time.Sleep(time.Duration(p.random.IntN(3600)) * time.Second)
	}
	p.end()
	time.Sleep(time.Duration(p.random.IntN(4*3600)) * time.Second)
	p.start()
}

// moveClock sets the clock, by a day at most, or corrects it by little.
func (p *timedPlan) moveClock() {
	most := []time.Duration{time.Second, time.Hour, 24 * time.Hour}[p.random.IntN(3)]
	by := time.Duration(p.random.Int64N(int64(2*most))) - most
	p.figures.Jumps++
	p.say("the clock is set by %s", by)
	p.clock.move(by)
}

// editOwner moves all the times of an owner.
func (p *timedPlan) editOwner(namespace string) {
	if p.read(memcacheds, namespace, "cache") == nil {
		return
	}
	size := 1 + p.random.IntN(30)
	p.say("the owner in %s gets size %d", namespace, size)
	p.resize(namespace, size)
}

// dropChild deletes one of an owner's children, or the owner.
func (p *timedPlan) dropChild(namespace string) {
	name := []string{"cache-window", "cache-later", "cache-brief", "cache"}[p.random.IntN(4)]
	gvr := resources()["configmaps"]
	if name == "cache" {
		gvr = memcacheds
	}
	if p.read(gvr, namespace, name) == nil {
		return
	}
	p.say("%s in %s is deleted", name, namespace)
	p.judge.excuseOwner(namespace, name == "cache")
	_ = p.admin.Resource(gvr).Namespace(namespace).Delete(p.Context(), name, metav1.DeleteOptions{}) // it may be gone
}

// takeRights takes the rights to write away for a while.
func (p *timedPlan) takeRights() {
	p.say("rights are taken away")
	p.delete("clusterroles", "", "maps")
	time.Sleep(time.Duration(p.random.IntN(3*3600)) * time.Second)
	p.create("clusterroles", "", mapsRole)
	p.say("rights are given back")
}

// settle ends all faults, and looks whether all is as it should be, now and at wakes to come.
func (p *timedPlan) settle() {
	p.Helper()
	p.faults.mu.Lock()
	p.faults.lossy = 0
	clear(p.faults.left)
	p.faults.mu.Unlock()
	time.Sleep(6 * time.Minute) // retries, reviews, and the clock is compared
	for range 4 {
		synctest.Wait()
		next := p.checkRest()
		if next.IsZero() || len(p.judge.all()) > 0 {
			return
		}
		p.figures.Wakes++
		before := p.server.ResourceVersion()
		time.Sleep(next.Sub(p.clock.Now()) - time.Second)
		synctest.Wait()
		if after := p.server.ResourceVersion(); after != before {
			p.judge.violated("between two wakes nothing is written", "%d writes before that of %s", after-before, next)
		}
		time.Sleep(5 * time.Second)
	}
}
