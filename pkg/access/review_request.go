package access

import (
	"slices"
	"time"
)

// wantReview says that what will be asked is to be sent at a time, whatever has failed
// before.
func (p *reviewState) wantReview(at time.Time) {
	if p.retry = (time.Time{}); !p.isAsking() || at.Before(p.soon) {
		p.soon = at
	}
}

// requestAll begins a review of everything: the rules, and what they leave open.
func (p *reviewState) requestAll() { p.full, p.askRules = true, true }

// isUndecided says whether the rules leave a decision record open. Everywhere that is so also if it
// depends on a name: what is asked for without one is a list of all.
func (p *reviewState) isUndecided(f *decisionRecord) bool {
	return f.ruled != Allowed && (p.rules.Incomplete || f.ruled == Unknown && p.Namespace == "")
}

// isAsking says whether something is asked.
func (p *reviewState) isAsking() bool { return p.askRules || slices.ContainsFunc(p.facts, isAsked) }

func isAsked(f *decisionRecord) bool  { return f.ask }
func isDenied(f *decisionRecord) bool { return f.keeps > 0 && f.current == Denied }

// isHidden says whether rules may not tell that a denied access is allowed again.
func (p *reviewState) isHidden(f *decisionRecord) bool {
	return isDenied(f) && (p.rules == nil || p.rules.Incomplete || f.asked != Unknown)
}

// isBlocked says whether something is denied.
func (p *reviewState) isBlocked() bool {
	return p.refusal != nil || slices.ContainsFunc(p.facts, isDenied)
}

// isReviewed says whether an answer is there for everything.
func (p *reviewState) isReviewed() bool {
	if p.refusal != nil {
		return true
	}
	return !p.at.IsZero() && !slices.ContainsFunc(p.facts, func(f *decisionRecord) bool { return !f.known })
}

// nextReview returns when the next request is due, and its class; false: none is wanted.
func (p *reviewState) nextReview() (c reviewClass, due time.Time, any bool) {
	asks, hinted := p.isAsking(), p.hint.on && !p.full
	switch {
	case p.flying:
		return 0, due, false
	case asks && (!hinted || p.hint.class != urgent || !p.hint.due.Before(p.soon)):
		c, due = urgent, p.soon
	case hinted:
		c, due = p.hint.class, p.hint.due
	case p.isBlocked() || p.hasten:
		c, due = routine, laterOf(p.routine, p.roomForReview())
		if p.hasten {
			c = urgent
		}
	default:
		return 0, due, false
	}
	return c, laterOf(due, p.retry), true
}

// roomForReview returns when the minute has room for a routine probe.
func (p *reviewState) roomForReview() time.Time {
	if p.owner.triggered {
		return p.history.roomAt(rarePerMinute)
	}
	return p.history.roomAt(perMinute)
}

// reviewRequest is one request of a key.
type reviewRequest struct {
	fact    *decisionRecord // nil: the rules
	routine bool
}

// takeRequest returns the request that is due.
func (p *reviewState) takeRequest(now time.Time) reviewRequest {
	req := p.pickRequest(now)
	p.flying, p.ruling = true, req.fact == nil
	p.history.addRequest(now)
	return req
}

// pickRequest chooses what to ask, and notes that it is asked.
func (p *reviewState) pickRequest(now time.Time) reviewRequest {
	if p.hint.isReady(now) && !p.full {
		p.hint.takeUp(now)
		p.requestAll()
		p.soon = now
	}
	if p.askRules {
		p.askRules = false
		return reviewRequest{}
	}
	if i := slices.IndexFunc(p.facts, isAsked); i >= 0 {
		p.facts[i].ask = false
		return reviewRequest{fact: p.facts[i]}
	}
	p.hasten = false
	return reviewRequest{fact: p.probedRecord(), routine: true}
}

// probedRecord returns what a routine probe asks for: the rules, which answer for everything
// that they can (nil), or else one denied access, in turn.
func (p *reviewState) probedRecord() *decisionRecord {
	if p.refusal != nil || !p.alternate {
		p.alternate = slices.ContainsFunc(p.facts, p.isHidden)
		return nil
	}
	p.alternate = false
	for i := range p.facts {
		at := (p.turn + i) % len(p.facts)
		if f := p.facts[at]; p.isHidden(f) {
			p.turn = at + 1
			return f
		}
	}
	return nil // what was hidden is not any more
}
