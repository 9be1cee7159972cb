package faultplan

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// trouble is a server that accepts no write for a while, and answers each at once.
func (c *chooser) trouble() Action {
	long := time.Duration(1+c.IntN(60)) * time.Second
	return Action{Text: fmt.Sprintf("for %s, all writes are answered 500", long), Do: func(w *World) {
		w.refuseWrites(long)
	}}
}

// refuseWrites has all writes answered 500 for a while.
func (w *World) refuseWrites(long time.Duration) {
	until := time.Now().Add(long)
	w.arm(answer{
		times:   maxRefused,
		matches: func(r sim.Request) bool { return isWrite(r) && time.Now().Before(until) },
		before:  func(sim.Request) error { return apierrors.NewInternalError(fmt.Errorf("etcdserver: no leader")) },
	})
}

// hideCreates has answers of creates be lost, of those that an edit leads to among them, while no object
// can be read by its name: what has become of them cannot be confirmed for as long as that lasts.
func (c *chooser) hideCreates() Action {
	times, long, edit := 1+c.IntN(5), time.Duration(20+c.IntN(60))*time.Second, c.editOwner()
	return Action{
		Text: fmt.Sprintf("the answers of the next %d creates are lost, and for %s no object can be read by its name; %s", times, long, edit.Text),
		Do: func(w *World) {
			w.loseCreates(times, long, func(sim.Request) bool { return true })
			edit.Do(w)
			w.later(long, func(*World) {}) // the plan does not end before
		},
	}
}

// loseCreates has the answers of the next creates be lost, and what they have made be unreadable by
// its name for a while. It is about those that match.
func (w *World) loseCreates(times int, long time.Duration, match func(sim.Request) bool) {
	until := time.Now().Add(long)
	w.arm(answer{
		times: times,
		matches: func(r sim.Request) bool {
			return r.Verb == "create" && isWrite(r) && match(r) && time.Now().Before(until)
		},
		after: func(sim.Request) error { return context.DeadlineExceeded },
	})
	w.arm(answer{
		times:   maxRefused,
		matches: func(r sim.Request) bool { return r.Verb == "get" && match(r) && time.Now().Before(until) },
		before:  func(sim.Request) error { return apierrors.NewInternalError(fmt.Errorf("etcdserver: no leader")) },
	})
}

// maxRefused is more than any Ambit asks for in a plan.
const maxRefused = 1 << 20

// replaceChild has somebody put an object of their own in the place of a child, which looks
// like it: as who restores a backup, or wants to be taken for Ambit.
func (c *chooser) replaceChild() Action { return c.replaceChildAt(c.IntN(100)) }

func (c *chooser) replaceChildAt(i int) Action {
	return Action{Text: fmt.Sprintf("somebody deletes child %d, and makes an object that looks like it", i), Do: func(w *World) {
		child := w.someChild(i)
		if child == nil {
			return
		}
		live := w.read(child.resource, child.namespace, child.name)
		if live == nil {
			return
		}
		w.delete(child.resource, child.namespace, child.name)
		again := copyOf(live)
		if i%2 == 0 { // then no stream of children shows it
			labels := again.GetLabels()
			delete(labels, v1alpha1.LabelOwnerUID)
			again.SetLabels(labels)
		}
		w.create(child.resource, again)
		w.mu.Lock()
		w.copied = append(w.copied, *child)
		w.mu.Unlock()
	}}
}

// removeCopies has who put copies in the place of children take them away: what is there
// because of them depends on when they came.
func (w *World) removeCopies() {
	w.mu.Lock()
	copied := w.copied
	w.copied = nil
	w.mu.Unlock()
	for _, c := range copied {
		if live := w.read(c.resource, c.namespace, c.name); live != nil && !w.judge.isMade(live.GetUID()) {
			w.delete(c.resource, c.namespace, c.name)
		}
	}
}

// behind has Ambit see an object that is gone, or another one by now, while there is a reason
// to write it.
func (c *chooser) behind() Action {
	lag, i := time.Duration(2+c.IntN(6))*time.Second, c.IntN(100)
	change, edit := c.deleteChildAt(i), c.editOwner()
	if c.IntN(2) == 0 {
		change = c.replaceChildAt(i)
	}
	return Action{
		Text: fmt.Sprintf("events of child %d come %s late, while %s, and %s", i, lag, change.Text, edit.Text),
		Do: func(w *World) {
			if child := w.someChild(i); child != nil {
				w.disturb(child.resource.Resource, disturbance{lag: lag, until: time.Now().Add(lag)})
			}
			change.Do(w)
			edit.Do(w)
		},
	}
}

// behindTheOther has two processes of which one sees owners as they were, while the other one
// has gone on.
func (c *chooser) behindTheOther() Action {
	second, edit := c.secondProcess(), c.editOwner()
	lag := time.Duration(3+c.IntN(10)) * time.Second
	return Action{
		Text: fmt.Sprintf("%s; which sees owners %s late, and a second later %s", second.Text, lag, edit.Text),
		Do: func(w *World) {
			w.mu.Lock()
			var process string
			if len(w.running) > 0 {
				process = w.running[0].name
			}
			w.mu.Unlock()
			second.Do(w)
			w.disturb(w.plan.Scenario.Owners.Resource, disturbance{lag: lag, until: time.Now().Add(lag), process: process})
			w.later(time.Second, edit.Do)
		},
	}
}

// missHistory has the streams of a resource be away while things change, and the server
// forget what changed before they are back.
func (c *chooser) missHistory() Action {
	resource, long := c.resource(), time.Duration(2_000+c.IntN(4_000))*time.Millisecond
	first, second := c.editOwner(), c.editOwner()
	return Action{
		Text: fmt.Sprintf("for %s, streams of %s are away; meanwhile %s, then %s, and the server forgets its history", long, resource, first.Text, second.Text),
		Do: func(w *World) {
			until := time.Now().Add(long)
			w.arm(answer{
				times: maxRefused,
				matches: func(r sim.Request) bool {
					return isRead(r) && r.Resource.Resource == resource && time.Now().Before(until)
				},
				before: func(sim.Request) error { return apierrors.NewServiceUnavailable("the server is starting") },
			})
			w.disturb(resource, disturbance{end: true})
			first.Do(w)
			w.later(long-time.Second, func(w *World) {
				second.Do(w)
				time.Sleep(time.Second / 2)
				w.server.Compact()
			})
		},
	}
}

// copyOf is an object as somebody writes it who has seen another: with its labels and
// annotations, but without its ownerReferences.
func copyOf(live *unstructured.Unstructured) *unstructured.Unstructured {
	made := live.DeepCopy()
	delete(made.Object, "status")
	made.Object["metadata"] = map[string]any{"name": live.GetName(), "namespace": live.GetNamespace()}
	made.SetLabels(live.GetLabels())
	made.SetAnnotations(live.GetAnnotations())
	return made
}

// editInARow edits the policy, and some time later twice in a row, so that the version between
// may never be worked with.
func (c *chooser) editInARow() Action {
	first, second, third := c.editPolicy(), c.editPolicy(), c.editPolicy()
	pause, gap := time.Duration(c.IntN(5_000))*time.Millisecond, time.Duration(c.IntN(2)*c.IntN(1_000))*time.Millisecond
	return Action{
		Text: fmt.Sprintf("%s; %s later %s, and %s after that %s", first.Text, pause, second.Text, gap, third.Text),
		Do: func(w *World) {
			first.Do(w)
			w.later(pause, func(w *World) {
				second.Do(w)
				if gap > 0 {
					time.Sleep(gap)
				}
				third.Do(w)
			})
		},
	}
}
