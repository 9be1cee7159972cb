package faultplan

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// What webhooks and kinds do to a world, seen while they do it. What comes after is judged as
// of all plans.

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

var services = schema.GroupVersionResource{Version: "v1", Resource: "services"}

// scene is a plan of the Memcached operator: an action before there is an owner, and looks at
// what comes of it, each some time after the one before.
type scene struct {
	*testing.T
	scenario *Scenario
	steps    []Step
}

func newScene(t *testing.T) *scene {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	return &scene{T: t, scenario: s}
}

func (s *scene) after(pause time.Duration, do func(*World)) {
	s.steps = append(s.steps, Step{Time: pause, Action: Action{Do: do}})
}

// owner makes one.
func (s *scene) owner() {
	s.after(time.Second, func(w *World) { w.create(s.scenario.Owners, s.scenario.Owner("one", "a", 1)) })
}

// sees looks at the object of the owner's child, nil if there is none, after a pause.
func (s *scene) sees(pause time.Duration, what string, look func(child *unstructured.Unstructured) bool) {
	s.after(pause, func(w *World) {
		if child := w.read(deployments, "one", "a"); !look(child) {
			s.Errorf("it does not hold: %s. The child is %v", what, child)
		}
	})
}

// says looks at the owner's status.
func (s *scene) says(reason string) {
	s.after(0, func(w *World) {
		text := inLines(textOf(w.read(s.scenario.Owners, "one", "a")))
		if !strings.Contains(text, "reason: "+reason+"\n") {
			s.Errorf("the owner does not say %s: %s", reason, text)
		}
	})
}

func (s *scene) run() {
	holds(s.T, &Plan{Seed: 1, Scenario: s.scenario, Workloads: true, Cleanup: true, Steps: s.steps})
}

func isThere(child *unstructured.Unstructured) bool { return child != nil }
func isGone(child *unstructured.Unstructured) bool  { return child == nil }

func TestWebhookDenies(t *testing.T) {
	s := newScene(t)
	h := webhook{matches: s.scenario.targets()[2].matches, admit: func(*sim.Review) error { return sim.Denied(hookName, "not now") }}
	s.after(time.Second, func(w *World) { w.registerFor(h, 20*time.Second) })
	s.owner()
	s.sees(10*time.Second, "it is refused", isGone)
	s.says(v1alpha1.ReasonAdmissionDenied)
	s.sees(50*time.Second, "it is made", isThere)
	s.run()
}

func TestWebhookDeniesTimes(t *testing.T) {
	s := newScene(t)
	asked := 0
	h := webhook{left: 2, matches: s.scenario.targets()[1].matches, admit: func(*sim.Review) error { asked++; return sim.Denied(hookName, "not now") }}
	s.after(time.Second, func(w *World) { w.register(h) })
	s.owner()
	s.sees(time.Minute, "it is made", isThere)
	s.run()
	if asked != 2 {
		t.Errorf("the webhook refused %d times, want 2", asked)
	}
}

// TestEditWhileStarting: a process that starts while the policy is edited has the policy that there is
// then: Ambit reads its policies for as long as it runs.
func TestEditWhileStarting(t *testing.T) {
	s := newScene(t)
	s.after(time.Second, func(w *World) {
		w.judge.mu.Lock() // where a start waits, while others send requests
		var both sync.WaitGroup
		both.Go(w.start)
		awaitTurns(func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.started == 2 })
		both.Go(func() { w.setPolicy(1) })
		awaitTurns(func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.edited })
		w.judge.mu.Unlock()
		both.Wait()
		w.each(func(p *process) {
			if p.engine.Programs()[0] != s.scenario.Versions[1] {
				t.Errorf("%s has the policy of before", p.name)
			}
		})
		w.end(true)
		w.setPolicy(0)
	})
	s.run()
}

// awaitTurns lets other goroutines go on until something holds, or for as long as that may take if it
// can.
func awaitTurns(holds func() bool) {
	for range 10000 {
		if holds() {
			return
		}
		runtime.Gosched()
	}
}

// TestWebhookChanges: each change is there for as long as the webhook is, and then is not.
func TestWebhookChanges(t *testing.T) {
	lacks := func(label string) func(child, _ *unstructured.Unstructured) bool {
		return func(child, _ *unstructured.Unstructured) bool { return child.GetLabels()[label] == "" }
	}
	added := func(child, _ *unstructured.Unstructured) bool { return restore(child) }
	changed := func(_, owner *unstructured.Unstructured) bool { return restoreStatus(owner) }
	cases := map[string]struct {
		seen   func(child, owner *unstructured.Unstructured) bool
		reason string // that the owner gives
	}{
		"takes all labels of Ambit off":            {lacks(v1alpha1.LabelPolicy), v1alpha1.ReasonLabelsRemoved},
		"takes the label with the owner's uid off": {lacks(v1alpha1.LabelOwnerUID), v1alpha1.ReasonLabelsRemoved},
		"annotates":         {added, ""},
		"adds a sidecar to": {added, ""},
		"changes values of": {added, ""},
		"changes values, each time to another one, of": {added, ""},
		"changes the status of":                        {changed, ""},
		"takes the conditions out of the status of":    {changed, ""},
	}
	for _, change := range changes() {
		t.Run(change.text, func(t *testing.T) {
			c, ok := cases[change.text]
			if !ok {
				t.Fatal("there is no case")
			}
			s := newScene(t)
			s.after(time.Second, func(w *World) { w.register(change.webhook(s.scenario)) })
			s.owner()
			s.after(time.Minute, func(w *World) {
				child, owner := w.read(deployments, "one", "a"), w.read(s.scenario.Owners, "one", "a")
				if child == nil || owner == nil || !c.seen(child, owner) {
					t.Errorf("it is not changed: the child is %v, the owner is %v", child, owner)
				}
			})
			if c.reason != "" {
				s.says(c.reason)
			}
			s.run()
		})
	}
}

func TestHoldChildren(t *testing.T) {
	s := newScene(t)
	s.after(time.Second, func(w *World) { w.holdChildren(time.Minute) })
	s.owner()
	s.sees(time.Second, "it is held", func(child *unstructured.Unstructured) bool {
		return child != nil && len(child.GetFinalizers()) == 1
	})
	s.sees(2*time.Minute, "it is not held any more", func(child *unstructured.Unstructured) bool { return len(child.GetFinalizers()) == 0 })
	s.run()
}

func TestReplaceKind(t *testing.T) {
	s := newScene(t)
	s.owner()
	s.sees(time.Second, "it is made", isThere)
	s.after(0, func(w *World) { w.replaceKind(s.scenario.definitions()[0], 10*time.Second) })
	s.after(5*time.Second, func(w *World) {
		if w.read(customKinds, "", s.scenario.definitions()[0].GetName()) != nil {
			t.Error("the kind is there")
		}
	})
	s.sees(time.Minute, "it went with its owner", isGone)
	s.owner()
	s.sees(time.Minute, "it is made again", isThere)
	s.run()
}

// TestEditOwnerMeanwhile: a user edits an owner as it is, whoever writes it at the same time.
func TestEditOwnerMeanwhile(t *testing.T) {
	s := newScene(t).scenario
	w := newWorld(&Plan{Seed: 1, Scenario: s})
	w.create(s.Owners, s.Owner("one", "a", 0))
	const times = 500
	var other sync.WaitGroup
	other.Go(func() {
		for i := range times {
			w.patch(s.Owners, "one", "a", fmt.Sprintf(`{"status":{"state":{"message":"%d"}}}`, i), "status")
		}
	})
	for i := range times {
		w.editOwner("one", "a", i%s.Variants)
	}
	other.Wait()
	for _, v := range w.mistakes() {
		t.Error(v)
	}
}

// TestOwnerHeldByOthers: an owner that somebody else's finalizer holds as well is deleted. Ambit
// takes off its own alone.
func TestOwnerHeldByOthers(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 1, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Text: "create owner", Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 2)) }}},
		{Time: 10 * time.Second, Action: Action{Text: "hold it", Do: func(w *World) { w.hold("one", "a") }}},
		{Time: time.Second, Action: Action{Text: "delete it", Do: func(w *World) { w.delete(s.Owners, "one", "a") }}},
		{Time: 30 * time.Second, Action: Action{Text: "let it go", Do: (*World).release}},
	}})
}
