package faultplan

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
)

// What plans of faults have found in Ambit, each with the plan that found it, shrunk, and
// its seed when it did. A seed means another plan as soon as there is one more action to
// choose, so the plan itself is kept.

// TestFoundRevokedAtFirstReview (seeds 273, 569, 832): the rights in a namespace go at the
// very request by which Ambit asks about them for the first time. The answer was the one
// from before, the hint had come when nothing was known there, and the streams stayed open.
func TestFoundRevokedAtFirstReview(t *testing.T) {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	for requests := 1; requests <= 6; requests++ {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 273, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "b", 2)) }}},
				{Requests: requests, Action: Action{Do: func(w *World) { w.delete(roleBindings, "two", bindingHere) }}},
			}})
		})
	}
}

// TestFoundDroppedKind (seeds 75, 401, 467, 702, 711): an edit of the policy dropped the last
// child of its kind. What is beside its owner is in no record, nobody looked at the kind any
// more, and the object stayed until the owner went.
func TestFoundDroppedKind(t *testing.T) {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	for _, pause := range []time.Duration{0, 10 * time.Millisecond, 100 * time.Millisecond, time.Second, 10 * time.Minute} {
		t.Run(pause.String(), func(t *testing.T) {
			holds(t, &Plan{Seed: 401, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "b", 1)) }}},
				{Time: time.Second, Action: Action{Do: func(w *World) { w.setPolicy(2) }}},
				{Time: pause, Action: Action{Do: func(w *World) { w.setPolicy(0) }}},
			}})
		})
	}
}

// TestFoundMovedKind (seed 261129063882 of the generated policies) was a mistake of the judge, and of the
// documentation: after an edit the policy makes a kind in another namespace only. An Ambit that was there before
// the edit removes what is beside the owner. One that is started after it does not look there, as its policy makes
// nothing of the kind there and needs no right to; what is elsewhere is on record, and goes all the same.
func TestFoundMovedKind(t *testing.T) {
	s, err := newRecipe(11).scenario()
	if err != nil {
		t.Fatal(err)
	}
	const beside = "ConfigMap three/threea-c3"
	for name, tc := range map[string]struct {
		edit func(*World)
		left bool
	}{
		"Followed": {edit: func(w *World) { w.setPolicy(1) }},
		"Restart":  {edit: func(w *World) { w.end(true); w.setPolicy(1); w.start() }, left: true},
	} {
		t.Run(name, func(t *testing.T) {
			holds(t, &Plan{Seed: 261129063882, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("three", "a", 3)) }}},
				{Time: time.Minute, Action: Action{Do: tc.edit}},
				{Time: time.Minute, Action: Action{Do: func(w *World) {
					if w.mayBeForgotten(beside) != tc.left {
						w.problem("the judge lets %s stay: %t, want %t", beside, !tc.left, tc.left)
					}
					if w.mayBeForgotten("ConfigMap one/threea-c0") {
						w.problem("the judge lets what is on record stay")
					}
				}}},
			}})
		})
	}
}

// TestFoundDroppedKindEarly (seed 2396): the same, with a process that has just started and
// not looked at its owners yet.
func TestFoundDroppedKindEarly(t *testing.T) {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	for requests := 1; requests <= 9; requests += 2 {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 2396, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "a", 0)) }}},
				{Time: time.Second, Action: Action{Do: func(w *World) { w.setPolicy(2) }}},
				{Time: time.Minute, Action: Action{Do: func(w *World) { w.end(true); w.start() }}},
				{Requests: requests, Action: Action{Do: func(w *World) { w.setPolicy(0) }}},
			}})
		})
	}
}

// TestFoundUnlabelledGoing (protected-volume, seed 55): a child is being deleted, and somebody's
// finalizer holds it, when it loses its labels: no stream shows it any more. The create of
// another one met it; that it was gone at last nobody said, and the owner waited for ever.
func TestFoundUnlabelledGoing(t *testing.T) {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{v1alpha1.LabelPolicy, v1alpha1.LabelOwnerUID} {
		t.Run(label, func(t *testing.T) {
			holds(t, &Plan{Seed: 55, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.holdChildren(30 * time.Second) }}},
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 1)) }}},
				{Time: 5 * time.Second, Action: Action{Do: func(w *World) { w.delete(deployments, "one", "a") }}},
				{Time: 5 * time.Second, Action: Action{Do: func(w *World) {
					w.patch(deployments, "one", "a", fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, label))
				}}},
			}})
		})
	}
}

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

// holds runs a plan and reports what did not hold: on one processor, so that a step comes
// at the same request each time. With the race detector the drawn plans stand for these.
func holds(t *testing.T, p *Plan) {
	raced.Skip(t)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, v := range Run(t, p) {
		t.Error(v)
	}
}

// countOwnerWrites counts the writes of owners, or of a subresource of them, from now on.
func (w *World) countOwnerWrites(subresource string, n *int) {
	w.arm(answer{times: maxSameWrites, matches: func(r sim.Request) bool {
		if r.Resource == w.plan.Scenario.Owners && r.Subresource == subresource && isWrite(r) {
			*n++
		}
		return false
	}})
}

// TestFoundOrphanSibling (seed 1563 of the generated policies): a child is left behind, and
// another of its kind, which stands after it in the policy, loses elements. What was made of
// these was taken for the first one's, and stayed.
func TestFoundOrphanSibling(t *testing.T) {
	s, err := newRecipe(330).scenario()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 1563, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("three", "b", 2)) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.editOwner("three", "b", 3) }}},
	}})
}

// TestFoundUnlabelledOnce (seed 133 of the generated policies): a child that is made once and
// never written again (apply: Create) loses its label, and others depend on it. No stream
// shows it: each pass met it anew, opened the streams of the others, gave them up and opened
// them again, without a pause. Once deleted it was not made again.
func TestFoundUnlabelledOnce(t *testing.T) {
	for _, seed := range []uint64{60, 273, 291} {
		s, err := newRecipe(seed).scenario()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 4 {
			t.Run(fmt.Sprint(seed, i), func(t *testing.T) {
				holds(t, &Plan{Seed: 133, Scenario: s, Steps: []Step{
					{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "a", 1)) }}},
					{Time: 10 * time.Second, Action: Action{Do: func(w *World) {
						if child := w.someChild(i); child != nil {
							w.patch(child.resource, child.namespace, child.name, `{"metadata":{"labels":{"ambit.dev/policy":null}}}`)
						}
					}}},
				}})
			})
		}
	}
}

// TestFoundStaleRecord (seed 52 of the generated policies, seed 268 of copies): two processes,
// and one sees owners as they were. It made what it saw in the record again, which the other
// one had removed and taken out of the record: nobody found it any more.
func TestFoundStaleRecord(t *testing.T) {
	s, err := newRecipe(29).scenario()
	if err != nil {
		t.Fatal(err)
	}
	c, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	for name, plan := range map[string]struct {
		scenario  *Scenario
		namespace string
		from, to  int
	}{
		"Place": {scenario: s, from: 1, to: 0},
		"Claim": {scenario: c, namespace: "one", from: 2, to: 3},
	} {
		t.Run(name, func(t *testing.T) {
			holds(t, &Plan{Seed: 52, Scenario: plan.scenario, Cleanup: true, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(plan.scenario.Owners, plan.scenario.Owner(plan.namespace, "a", plan.from)) }}},
				{Time: time.Minute, Action: Action{Do: func(w *World) {
					first, until := w.running[0].name, time.Now().Add(10*time.Second)
					w.start()
					w.disturb(plan.scenario.Owners.Resource, disturbance{lag: 10 * time.Second, until: until, process: first})
				}}},
				{Time: time.Second, Action: Action{Do: func(w *World) { w.editOwner(plan.namespace, "a", plan.to) }}},
				{Time: 7 * time.Second, Action: Action{Do: func(w *World) { w.end(true) }}},
			}})
		})
	}
}

// TestFoundRenamed (config-propagation seed 324, copies seed 440): a child gets another id,
// the answers to the writes that say so are lost, and the edit is undone. The claims on the
// objects named the id that neither record nor policy knew any more: they were left over.
func TestFoundRenamed(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	for requests := 1; requests <= 4; requests++ {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 324, Scenario: s, Cleanup: true, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 2)) }}},
				{Time: time.Minute, Action: Action{Do: func(w *World) {
					w.arm(answer{times: 4, matches: isWrite, after: func(sim.Request) error { return io.ErrUnexpectedEOF }})
					w.setPolicy(1)
				}}},
				{Requests: requests, Action: Action{Do: func(w *World) {
					until := time.Now().Add(40 * time.Second)
					w.arm(answer{
						times:   maxRefused,
						matches: func(r sim.Request) bool { return isWrite(r) && time.Now().Before(until) },
						before:  func(sim.Request) error { return apierrors.NewInternalError(io.ErrClosedPipe) },
					})
					w.setPolicy(0)
				}}},
				{Time: time.Second, Action: Action{Do: func(w *World) { w.editOwner("one", "a", 3) }}},
			}})
		})
	}
}

// TestFoundMetWhileBehind (seed 17691 of all scenarios): the stream of a kind is behind, so that
// each pass meets the child that another process has made. What depends on it opens a stream
// and waits for it, the next pass gave that up, and met the child again: without a pause.
func TestFoundMetWhileBehind(t *testing.T) {
	s, err := newRecipe(148).scenario()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 17691, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "a", 3)) }}},
		{Time: 20 * time.Second, Action: Action{Do: func(w *World) {
			w.disturb(services.Resource, disturbance{lag: 7 * time.Second, until: time.Now().Add(7 * time.Second)})
			w.delete(services, "three", "a-c1")
		}}},
		{Time: 5 * time.Second, Action: Action{Do: func(w *World) { w.start() }}},
		{Time: 7 * time.Second, Action: Action{Do: func(w *World) { w.end(true) }}},
	}})
}

// TestHeldBackBeforeEdit (seed 261124022091 of all scenarios) was a mistake of the plan: a
// protected owner is deleted, and an edit adds a child to the policy afterwards. It is not made,
// as what an owner has stays as it was when the owner was deleted.
func TestHeldBackBeforeEdit(t *testing.T) {
	s, err := protectedVolume()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 261124022091, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "a", 2)) }}},
		{Time: time.Second, Action: Action{Do: func(w *World) { w.usePod("two", "uses-a-0", "a") }}},
		{Time: time.Minute, Action: Action{Do: func(w *World) { w.delete(s.Owners, "two", "a") }}},
		{Time: time.Minute, Action: Action{Do: func(w *World) { w.setPolicy(2) }}},
	}})
}

// TestFoundOrphanSiblingGone (seed 261124032186 of all scenarios): an edit drops a child, and
// the only other one of its kind is left behind. What was made of the first was taken for the
// second one's, and stayed.
func TestFoundOrphanSiblingGone(t *testing.T) {
	s, err := newRecipe(78).scenario()
	if err != nil {
		t.Fatal(err)
	}
	for requests := 1; requests <= 9; requests++ {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 261124032186, Scenario: s, Cleanup: true, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 2)) }}},
				{Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
				{Requests: requests, Action: Action{Do: func(w *World) { w.setPolicy(0) }}},
			}})
		})
	}
}

// TestFoundUndecidedRecord (seed 261124032179 of all scenarios): two processes, and one sees a
// kind as it was. It took what the other one had just made out of the record, because it did
// not see it and did not know yet whether it was wanted; each wrote the record again as fast as
// it was answered.
func TestFoundUndecidedRecord(t *testing.T) {
	s, err := newRecipe(205).scenario()
	if err != nil {
		t.Fatal(err)
	}
	columns := []any{map[string]any{"name": "Another", "type": "string", "jsonPath": ".metadata.name"}}
	for requests := 1; requests <= 12; requests++ {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 261124032179, Scenario: s, Blind: true, Cleanup: true, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "b", 1)) }}},
				{Time: 210 * time.Millisecond, Action: Action{Do: func(w *World) {
					w.later(0, (*World).start)
					w.later(time.Second, func(w *World) { w.end(true) })
				}}},
				{Requests: requests, Action: Action{Do: func(w *World) { w.editKind("widgets.gen.example.com", columns) }}},
			}})
		})
	}
}

// TestFoundRefusedMark (seed 261125028919 of all scenarios): the write of a record was refused,
// and held back for a while. Another write of the owner was accepted meanwhile, so that nothing
// was due any more; but the owner went on to say that the server cannot be reached.
func TestFoundRefusedMark(t *testing.T) {
	s, err := newRecipe(65).scenario()
	if err != nil {
		t.Fatal(err)
	}
	for requests := 10; requests <= 14; requests++ {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 261125028919, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "a", 2)) }}},
				{Time: 2306 * time.Millisecond, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
				{Requests: requests, Action: Action{Do: func(w *World) {
					w.arm(answer{times: 3, matches: isWrite, before: func(sim.Request) error { return context.DeadlineExceeded }})
				}}},
			}})
		})
	}
}

// TestFoundTurns (seed 261125141450 of scenarios copies): all writes are refused, and two writes of
// an owner's metadata took turns, so that each was another one than the one before, and none
// waited longer than the first time.
func TestFoundTurns(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	for _, pause := range []time.Duration{500 * time.Millisecond, 5479 * time.Millisecond} {
		t.Run(pause.String(), func(t *testing.T) {
			holds(t, &Plan{Seed: 261125141450, Scenario: s, Cleanup: true, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "b", 2)) }}},
				{Requests: 11, Action: Action{Do: func(w *World) { w.refuseWrites(45 * time.Second) }}},
				{Time: 456 * time.Millisecond, Action: Action{Do: func(w *World) { w.editOwner("two", "b", 1) }}},
				{Time: 3450 * time.Millisecond, Action: Action{Do: func(w *World) { w.editOwner("two", "b", 2) }}},
				{Time: pause, Action: Action{Do: func(w *World) {
					if child := w.someChild(33); child != nil {
						w.delete(child.resource, child.namespace, child.name)
					}
				}}},
			}})
		})
	}
}

// TestFoundUID (seed 261125217340 of all scenarios, on two processors): somebody deletes a child that
// only the record ties to its owner. One process sees that, and makes it again; another, to whom
// the old one was still there, put its uid on record meanwhile. By that record the new one was not
// the owner's: it was in the way for ever, and stayed when the owner went.
func TestFoundUID(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	const copied = "one-a-p"
	holds(t, &Plan{Seed: 261125217340, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 0)) }}},
		{Time: 5 * time.Second, Action: Action{Do: func(w *World) {
			w.later(0, (*World).start)
			w.later(20*time.Second, func(w *World) { w.end(false) })
		}}},
		{Time: 2 * time.Second, Action: Action{Do: func(w *World) {
			w.disturb("configmaps", disturbance{lag: 10 * time.Second, until: time.Now().Add(10 * time.Second), process: w.running[1].name})
			w.arm(answer{times: 1, delay: 3 * time.Second, matches: func(r sim.Request) bool {
				return r.Verb == "create" && r.Name == copied && r.Process == w.running[0].name
			}})
			w.delete(configMaps, library, copied)
		}}},
	}})
}

// TestUnconfirmedUID: the answer to a create is lost, and the child cannot be read for a minute: its entry
// stays without a uid, which holds up no other child, and is completed later.
func TestUnconfirmedUID(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 1, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) {
			w.loseCreates(1, time.Minute, func(r sim.Request) bool { return r.Name == "one-a-p" })
			w.create(s.Owners, s.Owner("one", "a", 0))
		}}},
		{Time: 20 * time.Second, Action: Action{Do: func(w *World) { w.editOwner("one", "a", 1) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) {
			if w.read(configMaps, library, "one-a-q") == nil {
				t.Error("another child waits for the one that cannot be read")
			}
		}}},
	}})
}

// TestFoundFlips (seed 261125475624 of all scenarios): a child that only the record ties to its owner
// has lost its labels, and cannot be rendered, for want of a right. Each reconcile took it for gone,
// read it by its name, and said of it what the next one did not say that had to wait for its turn to
// read: two statuses a second, for ever.
func TestFoundFlips(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	lag, until := 5146*time.Millisecond, 27*time.Second
	holds(t, &Plan{Seed: 261125475624, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "a", 2)) }}},
		{Requests: 2, Action: Action{Do: func(w *World) { w.editChild(88) }}},
		{Requests: 6, Action: Action{Do: func(w *World) { w.registerFor(changes()[0].webhook(s), 20*time.Second) }}},
		{Time: 1574 * time.Millisecond, Action: Action{Do: func(w *World) {
			w.disturb(configMaps.Resource, disturbance{lag: lag, until: time.Now().Add(until)})
		}}},
		{Time: 1423 * time.Millisecond, Action: Action{Do: func(w *World) {
			w.arm(answer{times: 1, matches: isWrite, before: func(sim.Request) error { return apierrors.NewTooManyRequests("too many requests", 1) }})
		}}},
		{Time: 1054 * time.Millisecond, Action: Action{Do: func(w *World) { w.editOwner("two", "a", 0) }}},
		{Time: 3077 * time.Millisecond, Action: Action{Do: func(w *World) { w.disturb(configMaps.Resource, disturbance{expire: true}) }}},
		{Time: 3466 * time.Millisecond, Action: Action{Do: func(w *World) { w.delete(roleBindings, "two", bindingHere) }}},
	}})
}

// TestFoundOrphans (seed 261125374443 of all scenarios) was a mistake of the judge: a child is left
// behind without its labels, and is in the way of the next owner of that name, who says so.
func TestFoundOrphans(t *testing.T) {
	policies, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	s := policies.Make(5975285217259384643)
	again := func(name string, variant int) Action {
		return Action{Do: func(w *World) {
			w.delete(s.Owners, "", name)
			w.create(s.Owners, s.Owner("", "a", variant))
		}}
	}
	holds(t, &Plan{Seed: 261125374443, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "a", 2)) }}},
		{Requests: 1, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
		{Requests: 1, Action: Action{Do: func(w *World) { w.register(changes()[0].webhook(s)) }}},
		{Time: 3 * time.Second, Action: again("a", 2)},
		{Requests: 9, Action: again("b", 3)},
	}})
}

// TestOvertaken (seed 261124034399 of all scenarios) was a mistake of the plan: a write of one
// process takes long, and another process takes back what it is about before it comes.
func TestOvertaken(t *testing.T) {
	s, err := capsuleTenant()
	if err != nil {
		t.Fatal(err)
	}
	for requests := 4; requests <= 7; requests++ {
		t.Run(fmt.Sprint(requests), func(t *testing.T) {
			holds(t, &Plan{Seed: 261124034399, Scenario: s, Steps: []Step{
				{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "b", 0)) }}},
				{Requests: 11, Action: Action{Do: func(w *World) { w.editOwner("", "b", 2) }}},
				{Requests: requests, Action: Action{Do: func(w *World) { w.arm(answer{times: 1, matches: isWrite, delay: 7 * time.Second}) }}},
				{Time: 3 * time.Second, Action: Action{Do: func(w *World) {
					first, until := w.running[0].name, time.Now().Add(6*time.Second)
					w.later(0, (*World).start)
					w.later(14*time.Second, func(w *World) { w.end(true) })
					w.disturb(s.Owners.Resource, disturbance{lag: 6 * time.Second, until: until, process: first})
				}}},
				{Time: time.Second, Action: Action{Do: func(w *World) { w.editOwner("", "b", 0) }}},
			}})
		})
	}
}

// TestFoundLateMerge (seed 261150015859 of all scenarios, on several processors) was a mistake of the plan:
// one process has written the record, and before it merges what it has recorded, another process takes that
// back, within the time for which a record is taken for current.
func TestFoundLateMerge(t *testing.T) {
	s, err := capsuleTenant()
	if err != nil {
		t.Fatal(err)
	}
	isHeld := false
	holds(t, &Plan{Seed: 261150015859, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "b", 1)) }}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) {
			w.start()
			w.later(14*time.Second, func(w *World) { w.end(true) })
		}}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) {
			first, second := w.running[0].name, w.running[1].name
			w.disturb("namespaces", disturbance{lag: 300 * time.Millisecond, until: time.Now().Add(time.Second), process: second})
			w.arm(answer{times: 1, matches: func(r sim.Request) bool {
				return r.Process == first && r.Resource == namespaces && r.Name == "two" && isWrite(r)
			}, before: func(sim.Request) error {
				isHeld = true
				w.editOwner("", "b", 4)
				time.Sleep(700 * time.Millisecond)
				return nil
			}})
			w.patch(namespaces, "", "two", `{"metadata":{"labels":{"tenancy.example.com/tenant":"b"}}}`)
		}}},
	}})
	if !isHeld {
		t.Error("the first process did not merge")
	}
}

// TestFoundStaleOwner (seed 261131015693 of all scenarios, on several processors): the stream of owners is
// behind, somebody has changed an owner meanwhile, and things happen to its child. Each of them had its
// status written as of a version that the API server had refused already.
func TestFoundStaleOwner(t *testing.T) {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	tries := 0
	holds(t, &Plan{Seed: 261131015693, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "a", 1)) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) {
			w.disturb(s.Owners.Resource, disturbance{lag: 8 * time.Second, until: time.Now().Add(8 * time.Second)})
			w.patch(s.Owners, "one", "a", `{"metadata":{"labels":{"user":"was-here"}}}`)
			w.arm(answer{times: maxRefused, matches: func(r sim.Request) bool {
				if r.Subresource == "status" {
					tries++
				}
				return false
			}})
			for i := range 100 {
				w.change(deployments, "one", "a", func(live *unstructured.Unstructured) bool {
					setNested(live, int64(i%2), "status", "availableReplicas")
					return true
				}, "status")
				time.Sleep(50 * time.Millisecond)
			}
			w.change(deployments, "one", "a", func(live *unstructured.Unstructured) bool {
				live.Object["status"] = map[string]any{}
				return true
			}, "status")
		}}},
	}})
	if tries == 0 || tries > 20 {
		t.Errorf("the status was written %d times", tries)
	}
}

// TestFoundStrippedOrphan (seed 261142123445 of the generated policies): an edit leaves a child behind,
// somebody takes its labels off, and another edit wants it again. Nothing proves by then that it was made
// for the owner, so that it is somebody else's.
func TestFoundStrippedOrphan(t *testing.T) {
	s, err := newRecipe(100).scenario()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 261142123445, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("three", "a", 3)) }}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
		{Time: 3 * time.Second, Action: Action{Do: func(w *World) {
			w.patch(secrets, "three", "threea-c2-r", `{"metadata":{"labels":{"ambit.dev/policy":null,"app.kubernetes.io/managed-by":null}}}`)
			w.setPolicy(0)
		}}},
	}})
}

// TestFoundLateOrphan (seed 261151074875 of the generated policies): an owner is deleted and held back, and edited
// then, so that it would want one child more, which would be left behind. Nothing is made for it any more.
func TestFoundLateOrphan(t *testing.T) {
	s, err := newRecipe(182).scenario()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 261151074875, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) {
			w.create(configMaps, object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: seen-a, namespace: one, labels: {seen-by: a}}}`))
			w.create(s.Owners, s.Owner("one", "a", 2))
		}}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) { w.delete(s.Owners, "one", "a") }}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) { w.editOwner("one", "a", 1) }}},
	}})
}

// TestFoundStrippedDependent (seed 261151099007 of the generated policies): while a child is deleted that is no
// longer wanted, somebody takes its labels off, so that nobody finds it until garbage collection does. It is
// not waited for when its owner goes in order.
func TestFoundStrippedDependent(t *testing.T) {
	s, err := newRecipe(361).scenario()
	if err != nil {
		t.Fatal(err)
	}
	isStripped := false
	holds(t, &Plan{Seed: 261151099007, Scenario: s, Cleanup: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "a", 2)) }}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) {
			w.arm(answer{times: 1, matches: func(r sim.Request) bool { return r.Verb == "delete" && r.Name == "a-c1-p" }, before: func(sim.Request) error {
				isStripped = true
				w.patch(secrets, "three", "a-c1-p", `{"metadata":{"labels":{"ambit.dev/policy":null}}}`)
				return nil
			}})
			w.editOwner("", "a", 3)
		}}},
	}})
	if !isStripped {
		t.Error("the child was not deleted")
	}
}

// TestFoundStrippedPace (seed 261153058892 of the copies): a webhook takes a label off all children while the
// policy is edited. Each attempt to put it back wrote the record twice, which was 80 times in 5 s.
func TestFoundStrippedPace(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	strips := slices.IndexFunc(changes(), func(c change) bool { return c.text == "takes the label with the owner's uid off" })
	records := 0
	holds(t, &Plan{Seed: 261153058892, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) {
			w.registerFor(changes()[strips].webhook(s), 83*time.Second)
			w.countOwnerWrites("", &records)
			w.create(s.Owners, s.Owner("one", "a", 2))
		}}},
		{Requests: 12, Action: Action{Do: func(w *World) { w.setPolicy(2) }}},
		{Time: 500 * time.Millisecond, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
		{Time: 4 * time.Second, Action: Action{Do: func(w *World) {}}},
	}})
	if records > 40 {
		t.Errorf("the record was written %d times", records)
	}
}

// TestFoundUnlabelledOrphan (seed 261142008284 of the generated policies): an owner is deleted while a webhook
// takes all labels off its children, and stays, as it is protected. Nothing is written until it is not:
// nobody puts the labels back.
func TestFoundUnlabelledOrphan(t *testing.T) {
	s, err := newRecipe(16).scenario()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 261142008284, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) {
			w.registerFor(changes()[0].webhook(s), 24*time.Second)
			w.create(s.Owners, s.Owner("two", "b", 1))
			w.create(schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}, object(`{apiVersion: v1, kind: ConfigMap, metadata: {name: seen-b, namespace: one, labels: {seen-by: b}}}`))
		}}},
		{Time: 10 * time.Second, Action: Action{Do: func(w *World) { w.delete(s.Owners, "two", "b") }}},
	}})
}

// TestFoundEachKey (seed 261260057966 of generated policy 314): somebody changes the only text of a ConfigMap
// that is made anew when it differs. What was left of Ambit's entry in managedFields was taken for that of a
// map that the API server takes as one, so that the change stayed.
func TestFoundEachKey(t *testing.T) {
	all, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	s := all.Make(314)
	holds(t, &Plan{Seed: 261260057966, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("two", "b", 2)) }}},
		{Time: time.Second, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
		{Time: time.Minute, Action: Action{Do: func(w *World) {
			changed := false
			w.change(configMaps, "two", "twob-c3", func(obj *unstructured.Unstructured) bool {
				some := replaceTexts(obj, func(text string) bool { return text == "b" }, backText)
				changed = changed || some
				return some
			})
			if !changed {
				w.problem("there is no such text: the test is wrong")
			}
		}}},
		{Time: time.Minute, Action: Action{Do: func(*World) {}}},
	}})
}

// TestFoundUnreadPace (seed 261260144471 of the copies): for a while no object can be read by its name, and two
// are to go from the record and one is to get its uid. Beyond the first 32 reads one of them was read each
// second, and the owner said in turns that it could not be, and that all was well: 34 times in a minute.
func TestFoundUnreadPace(t *testing.T) {
	s, err := copies()
	if err != nil {
		t.Fatal(err)
	}
	statuses := 0
	holds(t, &Plan{Seed: 261260144471, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) {
			w.countOwnerWrites("status", &statuses)
			w.create(s.Owners, s.Owner("two", "a", 1))
		}}},
		{Requests: 12, Action: Action{Do: func(w *World) {
			w.loseCreates(5, 78*time.Second, func(sim.Request) bool { return true })
			w.editOwner("one", "b", 2)
		}}},
		{Time: 1182 * time.Millisecond, Action: Action{Do: func(w *World) { w.killFor(1202 * time.Millisecond) }}},
		{Requests: 7, Action: Action{Do: func(w *World) { w.refuseWrites(7 * time.Second) }}},
		{Requests: 12, Action: Action{Do: func(w *World) { w.editOwner("two", "a", 0) }}},
		{Time: 80 * time.Second, Action: Action{Do: func(*World) {}}},
	}})
	if statuses > 20 {
		t.Errorf("the status was written %d times", statuses)
	}
}

// TestFoundBlindTwo (seed 261260072660 of capsule-tenant): two processes that cannot watch RBAC objects, of which
// one has had to write since Ambit lost its rights in a namespace. Each said what it knew, for ever.
func TestFoundBlindTwo(t *testing.T) {
	s, err := capsuleTenant()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 261260072660, Scenario: s, Blind: true, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("", "a", 2)) }}},
		{Requests: 8, Action: Action{Do: func(w *World) { w.killFor(4062 * time.Millisecond) }}},
		{Time: 921 * time.Millisecond, Action: Action{Do: func(w *World) { w.killFor(2046 * time.Millisecond) }}},
		{Requests: 8, Action: Action{Do: func(w *World) { w.delete(roleBindings, "one", bindingHere) }}},
	}})
}

// TestFoundFormerTwo (seed 261263012218 of memcached): of two processes only one has seen which kinds the policy had
// before an edit, and says in a namespace without rights that it cannot see what is left of them.
func TestFoundFormerTwo(t *testing.T) {
	s, err := memcached()
	if err != nil {
		t.Fatal(err)
	}
	holds(t, &Plan{Seed: 261263012218, Scenario: s, Steps: []Step{
		{Requests: 1, Action: Action{Do: func(w *World) { w.setPolicy(2) }}},
		{Time: 1538 * time.Millisecond, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("one", "b", 1)) }}},
		{Time: 3811 * time.Millisecond, Action: Action{Do: (*World).start}},
		{Time: 3295 * time.Millisecond, Action: Action{Do: func(w *World) { w.delete(roleBindings, "one", bindingHere) }}},
		{Time: 486 * time.Millisecond, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
		{Time: 4577 * time.Millisecond, Action: Action{Do: func(w *World) { w.killFor(4254 * time.Millisecond) }}},
		{Time: 10 * time.Second, Action: Action{Do: func(*World) {}}},
	}})
}

// TestFoundChangedOnce (seed 261263024342 of generated policy 233): what a webhook makes of an object that is made and
// never written again stays, also if a later version of the policy has it.
func TestFoundChangedOnce(t *testing.T) {
	all, err := generated()
	if err != nil {
		t.Fatal(err)
	}
	s := all.Make(233)
	changes := changes()
	values := slices.IndexFunc(changes, func(c change) bool { return c.text == "changes values, each time to another one, of" })
	holds(t, &Plan{Seed: 261263024342, Scenario: s, Steps: []Step{
		{Time: time.Second, Action: Action{Do: func(w *World) { w.create(s.Owners, s.Owner("three", "a", 1)) }}},
		{Time: 5 * time.Second, Action: Action{Do: func(w *World) { w.registerFor(changes[values].webhook(s), 28*time.Second) }}},
		{Time: 5 * time.Second, Action: Action{Do: func(w *World) { w.setPolicy(1) }}},
		{Time: 30 * time.Second, Action: Action{Do: func(*World) {}}},
	}})
}
