package access

import (
	"slices"
	"time"
)

// refused takes in that an own request was refused. One that only agrees with what
// is known hastens the next probe; any other is confirmed at once.
func (p *place) refused(a Access, now time.Time) {
	p.notify = true
	f := p.index[a]
	if f != nil && !f.holds(now) {
		p.drop(f)
		f = nil
	}
	if p.refusal != nil || f != nil && f.current == Denied {
		p.agree(f, now)
		return
	}
	p.want(later(now, p.confirmed.Add(confirmGap)))
	if f == nil {
		f = p.remember(a, now)
	}
	f.refused, p.askRules = true, true
}

// agree hastens the next routine probe, and makes it one that tells of a fact, if
// that is not nil.
func (p *place) agree(f *fact, now time.Time) {
	at := later(now, p.history.last().Add(quickly))
	if !p.hasten && p.routine.After(at) {
		p.routine = at
	}
	p.hasten = true
	if f != nil {
		f.refused, f.since = true, now
		p.alternate, p.turn = p.hidden(f), slices.Index(p.facts, f)
	}
}

// remembered is how many accesses that nobody keeps have a fact, at most, and
// memory how long.
const (
	remembered = 32
	memory     = time.Minute
)

// remember makes a fact for an access that nobody keeps.
func (p *place) remember(a Access, now time.Time) *fact {
	count := 0
	var oldest *fact
	for _, f := range p.facts {
		if f.keeps > 0 {
			continue
		}
		if count++; oldest == nil {
			oldest = f
		}
	}
	if count >= remembered {
		p.drop(oldest)
	}
	f := &fact{access: a, known: true, since: now}
	if p.rules != nil {
		f.ruled = p.rules.Decide(a)
		f.current = f.ruled
	}
	p.index[a] = f
	p.facts = append(p.facts, f)
	return f
}
