package access

import (
	"maps"
	"time"
)

// requestHistory is when the last requests of a key were sent.
type requestHistory struct {
	sent []time.Time // at most perMinute, oldest first
}

// addRequest notes a request.
func (h *requestHistory) addRequest(now time.Time) {
	if len(h.sent) == perMinute {
		copy(h.sent, h.sent[1:])
		h.sent = h.sent[:perMinute-1]
	}
	h.sent = append(h.sent, now)
}

// renewHistory forgets all but the last request: what is known has changed, and the
// minutes of being denied count from here.
func (h *requestHistory) renewHistory() {
	if n := len(h.sent); n > 1 {
		h.sent = append(h.sent[:0], h.sent[n-1])
	}
}

// lastRequest returns when the last request was sent; zero if none was.
func (h *requestHistory) lastRequest() time.Time {
	if len(h.sent) == 0 {
		return time.Time{}
	}
	return h.sent[len(h.sent)-1]
}

// roomAt returns when there is room for one more, if a minute has room for limit.
func (h *requestHistory) roomAt(limit int) time.Time {
	if len(h.sent) < limit {
		return time.Time{}
	}
	return h.sent[len(h.sent)-limit].Add(minute)
}

// invalidation is what came of hints at a key: up to three probes.
type invalidation struct {
	on    bool
	class reviewClass // of what the invalidation asks for
	due   time.Time   // of the next probe
	stage int         // of the next probe
	first time.Time   // the first invalidation that waits for stage 0
	many  bool        // it came while another was on, perhaps for another change
	last  time.Time   // the latest invalidation
	sent  time.Time   // the last probe
}

// raiseFor notes an invalidation. Invalidations that come while the first probe waits are one.
func (h *invalidation) raiseFor(now time.Time, c reviewClass) {
	h.many = h.on // what the earlier one was for may not have been seen yet
	if h.on && h.stage == 0 {
		h.class = min(h.class, c)
	} else {
		h.on, h.stage, h.class, h.first = true, 0, c, now
	}
	h.last = now
	h.due = now.Add(retryStages()[0])
	if limit := h.first.Add(hintMax); h.due.After(limit) {
		h.due = limit
	}
	h.due = laterOf(h.due, h.sent.Add(hintMin))
}

// resumeAt notes an invalidation that came a moment before there was anything to probe. A first
// review may be answered as the authorizer was before the change, so the last probe of the
// invalidation is sent as well.
func (h *invalidation) resumeAt(at time.Time, c reviewClass) {
	all := retryStages()
	h.on, h.class, h.last, h.stage = true, c, at, len(all)-1
	h.due = at.Add(all[h.stage])
}

// isReady says whether a probe is due.
func (h *invalidation) isReady(now time.Time) bool { return h.on && !now.Before(h.due) }

// takeUp notes a probe, which stands for all stages that are over.
func (h *invalidation) takeUp(now time.Time) {
	h.sent = now
	all := retryStages()
	for h.stage++; h.stage < len(all); h.stage++ {
		if h.due = h.last.Add(all[h.stage]); h.due.After(now) {
			return
		}
	}
	h.on = false
}

// calmDown ends the further probes: one has shown a change. An invalidation that has come since
// stays, and so do several, of which it may have been only one.
func (h *invalidation) calmDown() { h.on = h.on && (h.stage == 0 || h.many) }

// recentInvalidations is when namespaces were last hinted at; "" is all of them. It has those that
// still have a probe to come, and few older ones. The zero value is empty.
type recentInvalidations struct {
	at    map[string]time.Time
	swept time.Time
}

// recordInvalidation notes an invalidation, and forgets old ones now and then.
func (r *recentInvalidations) recordInvalidation(namespace string, now time.Time) {
	if now.Sub(r.swept) > invalidationAge() {
		r.swept = now
		maps.DeleteFunc(r.at, func(_ string, at time.Time) bool { return now.Sub(at) > invalidationAge() })
	}
	if r.at == nil {
		r.at = map[string]time.Time{}
	}
	r.at[namespace] = now
}

// lastInvalidation returns the last invalidation at a namespace, or at all; false: none has a probe to come.
func (r *recentInvalidations) lastInvalidation(namespace string, now time.Time) (at time.Time, c reviewClass, any bool) {
	at, c = r.at[namespace], urgent
	if all := r.at[""]; namespace == "" || all.After(at) {
		at, c = all, sweep
	}
	return at, c, !at.IsZero() && now.Sub(at) <= invalidationAge()
}

// invalidationAge is how long after an invalidation its last probe is due.
func invalidationAge() time.Duration {
	all := retryStages()
	return all[len(all)-1]
}

// processCeiling bounds the requests of all keys together.
type processCeiling struct {
	sent    []time.Time // the last, as many as may be sent in a second; a ring
	next    int         // of the ring: the oldest
	routine time.Time   // the last routine probe
}

// newProcessCeiling lets so many requests arrive in any second: as many less are sent in one as
// may be under way when it begins, held up on their way.
func newProcessCeiling(limit int) processCeiling {
	return processCeiling{sent: make([]time.Time, max(1, limit-together))}
}

// freeAt returns when the next request may be sent: in half a second half as many as in one,
// so that not all are sent at once.
func (c *processCeiling) freeAt() time.Time {
	half := c.sent[(c.next+len(c.sent)/2)%len(c.sent)]
	return laterOf(timeAfter(c.sent[c.next], time.Second), timeAfter(half, time.Second/2))
}

// timeAfter is so much later than a time; of the zero time, the zero time.
func timeAfter(t time.Time, d time.Duration) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(d)
}

// smoothAt returns when the next routine probe may be sent: they are spread evenly,
// so that an invalidation seldom finds a whole second used up.
func (c *processCeiling) smoothAt() time.Time {
	return timeAfter(c.routine, time.Second/time.Duration(len(c.sent)))
}

// takeTurn notes a request.
func (c *processCeiling) takeTurn(now time.Time, what reviewClass) {
	c.sent[c.next] = now
	c.next = (c.next + 1) % len(c.sent)
	if what == routine {
		c.routine = now
	}
}
