package faultplan

import (
	"fmt"
	"time"

	"github.com/ambit-dev/ambit/test/sim"
)

// How fast Ambit asks.

const (
	// paceWindow is the time in which requests are counted.
	paceWindow = 5 * time.Second
	// maxSameWrites is how often one process may try to write one object in a window: five
	// times with the pauses that grow; an owner three times as often (its record is asked for,
	// loses an object and has it again) for each of five children.
	maxSameWrites = 80
	// maxSameReads is how often one process may read one object by its name in readWindow: with
	// the pauses that grow a dozen times, and once a second while somebody undoes its record.
	maxSameReads = 80
	readWindow   = time.Minute
	// maxRequests is how many requests one process may send in a window.
	maxRequests = 600
	// maxFree is how many requests of two processes at once take no time in a window, and
	// realLatency is what others take.
	maxFree     = 100
	realLatency = 100 * time.Millisecond
	// maxTurns is how often two processes may write one object in turn in a window, while nothing
	// disturbs them.
	maxTurns = 20
)

// pace is when requests were sent, by what is counted. The zero value is empty.
type pace struct {
	sent   map[string][]time.Time // oldest first, all within its window of the last
	writer map[string]string      // of an object: the process that wrote it last
	calm   time.Time              // from when on nothing disturbs them
}

// add notes a request, and says how many of its sort there were in the window that ends
// with it. One sort has one window.
func (p *pace) add(sort string, window time.Duration, now time.Time) int {
	if p.sent == nil {
		p.sent = map[string][]time.Time{}
	}
	list := append(p.sent[sort], now)
	for now.Sub(list[0]) >= window {
		list = list[1:]
	}
	p.sent[sort] = list
	return len(list)
}

// judgePace: a process that is refused, or undone, tries again less and less often. It says
// that the process is to be held up: one that asks without a pause would never end, as
// virtual time goes on only when everybody waits.
func (j *judge) judgePace(r sim.Request, now time.Time) (runaway bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := j.pace.add(r.Process, paceWindow, now)
	if all == maxRequests {
		j.violatedLocked("requests are paced", "%s sent %d requests in %s, the last is %s %s %s/%s", r.Process, all, paceWindow, r.Verb, r.Resource.Resource, r.Namespace, r.Name)
	}
	if isWrite(r) {
		what := fmt.Sprintf("%s %s %s %s %s/%s", r.Process, r.Verb, r.Resource.Resource, r.Subresource, r.Namespace, r.Name)
		if same := j.pace.add(what, paceWindow, now); same == maxSameWrites {
			j.violatedLocked("requests are paced", "%s: %d times in %s", what, same, paceWindow)
		}
	}
	if r.Verb == "get" && r.Name != "" {
		what := fmt.Sprintf("%s %s %s %s/%s", r.Process, r.Verb, r.Resource.Resource, r.Namespace, r.Name)
		if same := j.pace.add(what, readWindow, now); same == maxSameReads {
			j.violatedLocked("requests are paced", "%s: %d times in %s", what, same, readWindow)
		}
	}
	return all >= maxRequests
}

// twoAtOnce is judgePace for two processes, of which one may see less than the other: they
// answer each other's writes as fast as requests are answered, for as long as that lasts. So
// these take their time.
func (j *judge) twoAtOnce(now time.Time) (latency time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.pace.add("two at once", paceWindow, now) < maxFree {
		return 0
	}
	return realLatency
}

// judgeTurnsLocked: two processes want the same, so that they do not undo what the other one
// has written. One that sees less may, for as long as it does.
func (j *judge) judgeTurnsLocked(c sim.Change, key string, now time.Time) {
	if j.pace.writer == nil {
		j.pace.writer = map[string]string{}
	}
	before, by := j.pace.writer[key], c.Request.Process
	j.pace.writer[key] = by
	if before == "" || before == by || now.Before(j.pace.calm) {
		return
	}
	if turns := j.pace.add("turns "+key, paceWindow, now); turns == maxTurns {
		j.violatedLocked("two processes do not fight", "%s was written %d times in turn in %s", key, turns, paceWindow)
	}
}

// disturbedUntil notes until when streams lag, or webhooks change what is written.
func (j *judge) disturbedUntil(until time.Time) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if until.After(j.pace.calm) {
		j.pace.calm = until
	}
}
