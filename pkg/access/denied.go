package access

import (
	"slices"
	"time"
)

// recordDenied takes in that an own request was refused. One that only agrees with what
// is known hastens the next probe; any other is confirmed at once.
func (p *reviewState) recordDenied(a Access, now time.Time) {
	p.notify = true
	f := p.index[a]
	if f != nil && !f.isValidAt(now) {
		p.dropRecord(f)
		f = nil
	}
	if p.refusal != nil || f != nil && f.current == Denied {
		p.confirmDenied(f, now)
		return
	}
	p.wantReview(laterOf(now, p.confirmed.Add(confirmGap)))
	if f == nil {
		f = p.recordRemembered(a, now)
	}
	f.refused, p.askRules = true, true
}

// confirmDenied hastens the next routine probe, and makes it one that tells of a decision record, if
// that is not nil.
func (p *reviewState) confirmDenied(f *decisionRecord, now time.Time) {
	at := laterOf(now, p.history.lastRequest().Add(quickly))
	if !p.hasten && p.routine.After(at) {
		p.routine = at
	}
	p.hasten = true
	if f != nil {
		f.refused, f.since = true, now
		p.alternate, p.turn = p.isHidden(f), slices.Index(p.facts, f)
	}
}

// remembered is how many accesses that nobody keeps have a decision record, at most, and
// memory how long.
const (
	remembered = 32
	memory     = time.Minute
)

// recordRemembered makes a decision record for an access that nobody keeps.
func (p *reviewState) recordRemembered(a Access, now time.Time) *decisionRecord {
	count := 0
	var oldest *decisionRecord
	for _, f := range p.facts {
		if f.keeps > 0 {
			continue
		}
		if count++; oldest == nil {
			oldest = f
		}
	}
	if count >= remembered {
		p.dropRecord(oldest)
	}
	f := &decisionRecord{access: a, known: true, since: now}
	if p.rules != nil {
		f.ruled = p.rules.Decide(a)
		f.current = f.ruled
	}
	p.index[a] = f
	p.facts = append(p.facts, f)
	return f
}
