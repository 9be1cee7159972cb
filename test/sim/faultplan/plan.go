package faultplan

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"time"
)

// Plan is what happens in one run, in this order. It is immutable.
type Plan struct {
	Seed     uint64
	Scenario *Scenario
	// Blind: Ambit may not watch RBAC objects, and follows rights by other means.
	Blind bool
	// Workloads: Deployments and the like get Pods, and become ready.
	Workloads bool
	// Cleanup: at the end all owners are deleted, and nothing may be left over.
	Cleanup bool
	Steps   []Step
	// Trace is told of each step, each request of Ambit but reviews, and each
	// change; nil: nobody is.
	Trace io.Writer

	apart func(func()) // of the bubble that it runs in
}

// Step is one thing that happens.
type Step struct {
	// Requests is how many requests of Ambit are waited for, from the step before; the
	// action is done before the last of them is handled, or when nothing happens any more.
	Requests int
	// Time is waited for instead, if Requests is 0.
	Time time.Duration
	Action
}

// Action is something that a user, an administrator or bad luck does to a world.
type Action struct {
	Text string
	Do   func(*World)
}

// String is for people; a plan is replayed by its seed.
func (p *Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d: %s", p.Seed, p.Scenario.Name)
	if p.Blind {
		b.WriteString(", RBAC objects not watchable")
	}
	if p.Workloads {
		b.WriteString(", workloads come up")
	}
	if p.Cleanup {
		b.WriteString(", owners deleted at the end")
	}
	b.WriteByte('\n')
	for i, s := range p.Steps {
		fmt.Fprintf(&b, "  %2d %s\n", i, s)
	}
	return b.String()
}

// String says when and what.
func (s Step) String() string {
	if s.Requests > 0 {
		return fmt.Sprintf("at request %3d  %s", s.Requests, s.Text)
	}
	return fmt.Sprintf("after %8s  %s", s.Time, s.Text)
}

// Without is the plan without one step.
func (p *Plan) Without(step int) *Plan {
	less := *p
	less.Steps = append(append([]Step(nil), p.Steps[:step]...), p.Steps[step+1:]...)
	return &less
}

// Only is the plan with these of its steps.
func (p *Plan) Only(steps []int) *Plan {
	less := *p
	less.Steps = nil
	for _, i := range steps {
		less.Steps = append(less.Steps, p.Steps[i])
	}
	return &less
}

// Shrink drops steps for as long as fails says that what is left fails as well.
func Shrink(p *Plan, fails func(*Plan) bool) *Plan {
	for i := len(p.Steps) - 1; i >= 0; i-- {
		if less := p.Without(i); fails(less) {
			p = less
		}
	}
	return p
}

// maxSteps is how many a plan has at most.
const maxSteps = 8

// Generate makes the plan of a seed.
func Generate(scenarios []*Scenario, seed uint64) *Plan {
	c := &chooser{Rand: rand.New(rand.NewPCG(seed, 2))}
	c.scenario = scenarios[c.IntN(len(scenarios))]
	if c.scenario.Make != nil {
		c.scenario = c.scenario.Make(c.Uint64())
	}
	p := &Plan{Seed: seed, Scenario: c.scenario, Blind: c.IntN(8) == 0, Cleanup: c.IntN(3) > 0}
	p.Workloads = c.scenario.Workloads && c.IntN(3) == 0
	c.blind = p.Blind
	// Most plans begin with an owner: else little happens.
	first := c.createOwner()
	p.Steps = append(p.Steps, Step{Time: time.Second, Action: first})
	for range 1 + c.IntN(maxSteps-1) {
		s := Step{Action: c.action()}
		if c.IntN(3) > 0 {
			s.Requests = 1 + c.IntN(12)
		} else {
			s.Time = time.Duration(1+c.IntN(5_000)) * time.Millisecond
		}
		p.Steps = append(p.Steps, s)
	}
	return p
}

// chooser makes choices of a plan.
type chooser struct {
	*rand.Rand
	scenario *Scenario
	blind    bool
}

func (c *chooser) namespace() string {
	return c.scenario.Namespaces[c.IntN(len(c.scenario.Namespaces))]
}

// name is that of an owner: few, so that plans come back to them.
func (c *chooser) name() string { return []string{"a", "b"}[c.IntN(2)] }
