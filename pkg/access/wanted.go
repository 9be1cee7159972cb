package access

import (
	"slices"
	"time"
)

// want says that what will be asked is to be sent at a time, whatever has failed
// before.
func (p *place) want(at time.Time) {
	if p.retry = (time.Time{}); !p.asking() || at.Before(p.soon) {
		p.soon = at
	}
}

// askAll begins a review of everything: the rules, and what they leave open.
func (p *place) askAll() { p.full, p.askRules = true, true }

// open says whether the rules leave a fact open. Everywhere that is so also if it
// depends on a name: what is asked for without one is a list of all.
func (p *place) open(f *fact) bool {
	return f.ruled != Allowed && (p.rules.Incomplete || f.ruled == Unknown && p.Namespace == "")
}

// asking says whether something is asked.
func (p *place) asking() bool { return p.askRules || slices.ContainsFunc(p.facts, isAsked) }

func isAsked(f *fact) bool  { return f.ask }
func isDenied(f *fact) bool { return f.keeps > 0 && f.current == Denied }

// hidden says whether rules may not tell that a denied access is allowed again.
func (p *place) hidden(f *fact) bool {
	return isDenied(f) && (p.rules == nil || p.rules.Incomplete || f.asked != Unknown)
}

// blocked says whether something is denied.
func (p *place) blocked() bool { return p.refusal != nil || slices.ContainsFunc(p.facts, isDenied) }

// reviewed says whether an answer is there for everything.
func (p *place) reviewed() bool {
	if p.refusal != nil {
		return true
	}
	return !p.at.IsZero() && !slices.ContainsFunc(p.facts, func(f *fact) bool { return !f.known })
}

// next returns when the next request is due, and its class; false: none is wanted.
func (p *place) next() (c class, due time.Time, any bool) {
	asks, hinted := p.asking(), p.hint.on && !p.full
	switch {
	case p.flying:
		return 0, due, false
	case asks && (!hinted || p.hint.class != urgent || !p.hint.due.Before(p.soon)):
		c, due = urgent, p.soon
	case hinted:
		c, due = p.hint.class, p.hint.due
	case p.blocked() || p.hasten:
		c, due = routine, later(p.routine, p.room())
		if p.hasten {
			c = urgent
		}
	default:
		return 0, due, false
	}
	return c, later(due, p.retry), true
}

// room returns when the minute has room for a routine probe.
func (p *place) room() time.Time {
	if p.owner.triggered {
		return p.history.room(rarePerMinute)
	}
	return p.history.room(perMinute)
}

// request is one request of a place.
type request struct {
	fact    *fact // nil: the rules
	routine bool
}

// take returns the request that is due.
func (p *place) take(now time.Time) request {
	req := p.pick(now)
	p.flying, p.ruling = true, req.fact == nil
	p.history.add(now)
	return req
}

// pick chooses what to ask, and notes that it is asked.
func (p *place) pick(now time.Time) request {
	if p.hint.ready(now) && !p.full {
		p.hint.take(now)
		p.askAll()
		p.soon = now
	}
	if p.askRules {
		p.askRules = false
		return request{}
	}
	if i := slices.IndexFunc(p.facts, isAsked); i >= 0 {
		p.facts[i].ask = false
		return request{fact: p.facts[i]}
	}
	p.hasten = false
	return request{fact: p.probe(), routine: true}
}

// probe returns what a routine probe asks for: the rules, which answer for everything
// that they can (nil), or else one denied access, in turn.
func (p *place) probe() *fact {
	if p.refusal != nil || !p.alternate {
		p.alternate = slices.ContainsFunc(p.facts, p.hidden)
		return nil
	}
	p.alternate = false
	for i := range p.facts {
		at := (p.turn + i) % len(p.facts)
		if f := p.facts[at]; p.hidden(f) {
			p.turn = at + 1
			return f
		}
	}
	return nil // what was hidden is not any more
}
