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

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
	"github.com/ambit-dev/ambit/test/sim/faultplan"
)

var (
	madePlans = flag.Int("made-plans", raced.Few(2, 20), "how many plans of faults TestMadePlans runs")
	madeFirst = flag.Uint64("made-first", 1, "the seed of the first plan of TestMadePlans")
	madeSeed  = flag.Uint64("made-seed", 0, "the seed of the only plan that TestMadePlans runs; 0: as many as there are to be")
)

// propagation is how long clients may take to get a bundle in plans.
const propagation = 10 * time.Minute

// shortLived is the policy of plans: a plan of hours goes through every kind of renewal.
func shortLived() string {
	return strings.NewReplacer("{lifetime: 17520h}", "{lifetime: 8h, renewAt: 0.5, propagation: 10m}", "2160h, keep", "3h, keep", "lifetime: 2160h}", "lifetime: 2h}").Replace(madePolicy)
}

// mortals are Faults that end processes, which are users, between two requests, and lose answers.
type mortals struct {
	*counts
	random *rand.Rand
	// left is how many requests a process may still send; none: as many as it likes. Then it is dead.
	left map[string]int
	// lossy is how many of a hundred answers are lost.
	lossy int
}

// Before implements sim.Faults.
func (m *mortals) Before(_ context.Context, r sim.Request) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if left, mortal := m.left[r.User]; mortal && left == 0 {
		return apierrors.NewServiceUnavailable("the process has ended")
	} else if mortal {
		m.left[r.User] = left - 1
	}
	return nil
}

// After implements sim.Faults. The last answer of a process that ends is lost.
func (m *mortals) After(_ context.Context, r sim.Request, answer error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	left, mortal := m.left[r.User]
	if isAmbit := strings.HasPrefix(r.User, ambitUser); isAmbit && (mortal && left == 0 || m.random.IntN(100) < m.lossy) {
		return apierrors.NewTimeoutError("the answer is lost", 0)
	}
	return answer
}

// TestMadePlans: whatever ends and is lost, and when, there are never two values, no valid one is written over, and no certificate is
// served that clients refuse; and in the end all is made.
func TestMadePlans(t *testing.T) {
	values := 0
	plans := ownPlans{name: "-made-seed", count: *madePlans, first: *madeFirst, only: *madeSeed}
	plans.play = func(t *testing.T, seed uint64) []faultplan.Violation {
		made, found := playMade(t, seed)
		values += made
		return found
	}
	ran := plans.run(t)
	t.Logf("%d plans, in which %d passwords and keys were made", ran, values)
	if values < 5*ran {
		t.Error("that is too little to tell")
	}
}

// madePlan is one plan of faults under way.
type madePlan struct {
	*stage
	faults  *mortals
	random  *rand.Rand
	running map[string]func()
	starts  int
}

// playMade plays one plan, and returns how many values were made, and what did not hold.
func playMade(t *testing.T, seed uint64) (values int, found []faultplan.Violation) {
	random := rand.New(rand.NewPCG(seed, 0))
	p := &madePlan{random: random, running: map[string]func(){}}
	p.stage = newMadeStage(t, func(c *counts) sim.Faults {
		p.faults = &mortals{counts: c, random: rand.New(rand.NewPCG(seed, 1)), left: map[string]int{}, lossy: random.IntN(3) * 15}
		return p.faults
	})
	ctx, cancel := context.WithCancel(t.Context())
	var controllers sync.WaitGroup
	controllers.Go(func() { p.server.Run(ctx) })
	judge := &judgeOfMade{versions: map[string][]version{}}
	end := judge.watch(p.stage)
	p.owner("one", 3)
	p.start()
	for range 4 + random.IntN(8) {
		p.step()
	}
	if !p.settle() {
		judge.violated("in the end all is made", "the owner is %v, and clients of the certificate say %v", p.cache("one").Object["status"], p.verify())
	}
	for _, stop := range p.running {
		stop()
	}
	cancel()
	controllers.Wait()
	end()
	judge.check()
	if *madeSeed > 0 {
		judge.tell(t)
	}
	return judge.countValues(), judge.all()
}

// start starts a process, as a user of its own.
func (p *madePlan) start() {
	user := fmt.Sprintf("%s-%d", ambitUser, p.starts)
	p.starts++
	for _, role := range []string{"owners", "triggers", "secrets"} {
		name := role + "-" + user
		p.create("clusterrolebindings", "", fmt.Sprintf("{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: %s}, roleRef: {kind: ClusterRole, name: %s}, subjects: [{kind: User, name: %s}]}", name, role, user))
	}
	p.running[user] = startAmbit(p.T, p.server, user, controller.Options{Programs: programs(p.T, shortLived())})
}

// step does one thing that users or machines do.
func (p *madePlan) step() {
	switch p.random.IntN(9) {
	case 0, 1: // a process ends after so many requests, and another one starts
		for user := range p.running {
			p.faults.mu.Lock()
			p.faults.left[user] = p.random.IntN(12)
			p.faults.mu.Unlock()
		}
		time.Sleep(time.Duration(p.random.IntN(3600)) * time.Second)
		for user, stop := range p.running {
			stop()
			delete(p.running, user)
		}
		p.start()
	case 2: // a second process
		if len(p.running) < 2 {
			p.start()
		}
	case 3: // there are so few tokens that they come back
		p.tryPatch("db", fmt.Sprintf(`{"metadata":{"annotations":{"ambit.dev/rotate":"t%d"}}}`, p.random.IntN(3)))
	case 4:
		name := []string{"ca", "tls"}[p.random.IntN(2)]
		p.tryPatch(name, fmt.Sprintf(`{"metadata":{"annotations":{"ambit.dev/rotate":"t%d"}}}`, p.random.IntN(3)))
	case 5:
		p.tryPatch([]string{"db", "ca", "tls"}[p.random.IntN(3)], `{"metadata":{"annotations":{"ambit.dev/made":null}}}`)
	case 6: // the owner is made anew
		_ = p.admin.Resource(memcacheds).Namespace("one").Delete(p.Context(), "cache", metav1.DeleteOptions{}) // it may be gone
		p.until("the owner is gone", func() bool { return p.read(memcacheds, "one", "cache") == nil })
		p.owner("one", 1+p.random.IntN(9))
	case 7:
		p.resize("one", 1+p.random.IntN(9))
	case 8:
		p.tryPatch("tls", `{"data":{"tls.key":"eA=="}}`)
	}
	time.Sleep(time.Duration(p.random.IntN(2*3600)) * time.Second)
}

// tryPatch patches a Secret, if there is one.
func (p *madePlan) tryPatch(name, patch string) {
	if p.read(secrets, "one", name) != nil {
		p.patchSecret(name, patch)
	}
}

// settle ends all faults, and reports whether all is made within ten minutes.
func (p *madePlan) settle() bool {
	p.Helper()
	p.faults.mu.Lock()
	p.faults.lossy = 0
	clear(p.faults.left)
	p.faults.mu.Unlock()
	time.Sleep(5 * time.Minute)
	for range 300 {
		synctest.Wait()
		if p.isReady() && p.read(resources()["configmaps"], "one", "trust") != nil && len(p.secret("db")["password"]) == 32 && p.verify() == nil {
			return true
		}
		time.Sleep(time.Second)
	}
	return false
}
