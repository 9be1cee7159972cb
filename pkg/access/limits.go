package access

import (
	"maps"
	"time"
)

// history is when the last requests of a place were sent.
type history struct {
	sent []time.Time // at most perMinute, oldest first
}

// add notes a request.
func (h *history) add(now time.Time) {
	if len(h.sent) == perMinute {
		copy(h.sent, h.sent[1:])
		h.sent = h.sent[:perMinute-1]
	}
	h.sent = append(h.sent, now)
}

// renew forgets all but the last request: what is known has changed, and the
// minutes of being denied count from here.
func (h *history) renew() {
	if n := len(h.sent); n > 1 {
		h.sent = append(h.sent[:0], h.sent[n-1])
	}
}

// last returns when the last request was sent; zero if none was.
func (h *history) last() time.Time {
	if len(h.sent) == 0 {
		return time.Time{}
	}
	return h.sent[len(h.sent)-1]
}

// room returns when there is room for one more, if a minute has room for limit.
func (h *history) room(limit int) time.Time {
	if len(h.sent) < limit {
		return time.Time{}
	}
	return h.sent[len(h.sent)-limit].Add(minute)
}

// hint is what came of hints at a place: up to three probes.
type hint struct {
	on    bool
	class class     // of what the hint asks for
	due   time.Time // of the next probe
	stage int       // of the next probe
	first time.Time // the first hint that waits for stage 0
	many  bool      // it came while another was on, perhaps for another change
	last  time.Time // the latest hint
	sent  time.Time // the last probe
}

// raise notes a hint. Hints that come while the first probe waits are one.
func (h *hint) raise(now time.Time, c class) {
	h.many = h.on // what the earlier one was for may not have been seen yet
	if h.on && h.stage == 0 {
		h.class = min(h.class, c)
	} else {
		h.on, h.stage, h.class, h.first = true, 0, c, now
	}
	h.last = now
	h.due = now.Add(stages()[0])
	if limit := h.first.Add(hintMax); h.due.After(limit) {
		h.due = limit
	}
	h.due = later(h.due, h.sent.Add(hintMin))
}

// resume notes a hint that came a moment before there was anything to probe. A first
// review may be answered as the authorizer was before the change, so the last probe of the
// hint is sent as well.
func (h *hint) resume(at time.Time, c class) {
	all := stages()
	h.on, h.class, h.last, h.stage = true, c, at, len(all)-1
	h.due = at.Add(all[h.stage])
}

// ready says whether a probe is due.
func (h *hint) ready(now time.Time) bool { return h.on && !now.Before(h.due) }

// take notes a probe, which stands for all stages that are over.
func (h *hint) take(now time.Time) {
	h.sent = now
	all := stages()
	for h.stage++; h.stage < len(all); h.stage++ {
		if h.due = h.last.Add(all[h.stage]); h.due.After(now) {
			return
		}
	}
	h.on = false
}

// calm ends the further probes: one has shown a change. A hint that has come since
// stays, and so do several, of which it may have been only one.
func (h *hint) calm() { h.on = h.on && (h.stage == 0 || h.many) }

// recentHints is when namespaces were last hinted at; "" is all of them. It has those that
// still have a probe to come, and few older ones. The zero value is empty.
type recentHints struct {
	at    map[string]time.Time
	swept time.Time
}

// note notes a hint, and forgets old ones now and then.
func (r *recentHints) note(namespace string, now time.Time) {
	if now.Sub(r.swept) > hintAge() {
		r.swept = now
		maps.DeleteFunc(r.at, func(_ string, at time.Time) bool { return now.Sub(at) > hintAge() })
	}
	if r.at == nil {
		r.at = map[string]time.Time{}
	}
	r.at[namespace] = now
}

// last returns the last hint at a namespace, or at all; false: none has a probe to come.
func (r *recentHints) last(namespace string, now time.Time) (at time.Time, c class, any bool) {
	at, c = r.at[namespace], urgent
	if all := r.at[""]; namespace == "" || all.After(at) {
		at, c = all, sweep
	}
	return at, c, !at.IsZero() && now.Sub(at) <= hintAge()
}

// hintAge is how long after a hint its last probe is due.
func hintAge() time.Duration {
	all := stages()
	return all[len(all)-1]
}

// ceiling bounds the requests of all places together.
type ceiling struct {
	sent    []time.Time // the last, as many as may be sent in a second; a ring
	next    int         // of the ring: the oldest
	routine time.Time   // the last routine probe
}

// newCeiling lets so many requests arrive in any second: as many less are sent in one as
// may be under way when it begins, held up on their way.
func newCeiling(limit int) ceiling {
	return ceiling{sent: make([]time.Time, max(1, limit-together))}
}

// free returns when the next request may be sent: in half a second half as many as in one,
// so that not all are sent at once.
func (c *ceiling) free() time.Time {
	half := c.sent[(c.next+len(c.sent)/2)%len(c.sent)]
	return later(after(c.sent[c.next], time.Second), after(half, time.Second/2))
}

// after is so much later than a time; of the zero time, the zero time.
func after(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// smooth returns when the next routine probe may be sent: they are spread evenly,
// so that a hint seldom finds a whole second used up.
func (c *ceiling) smooth() time.Time {
	return after(c.routine, time.Second/time.Duration(len(c.sent)))
}

// take notes a request.
func (c *ceiling) take(now time.Time, what class) {
	c.sent[c.next] = now
	c.next = (c.next + 1) % len(c.sent)
	if what == routine {
		c.routine = now
	}
}
