package access

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// answer is the outcome of a request: rules or verdict as it asked, or an error.
type answer struct {
	rules   Rules
	verdict Verdict
	err     error
	// refusal: err says that the identity itself is refused.
	refusal bool
}

// isRefusal says whether a review was refused, other than failed.
func isRefusal(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// settle takes the answer to a request in.
func (p *place) settle(now time.Time, req request, a answer) {
	p.flying, p.ruling = false, false
	if a.err != nil && !a.refusal {
		p.fail(now, req)
		return
	}
	p.failures, p.retry, p.at = 0, time.Time{}, now
	switch {
	case a.refusal:
		p.refuse(a.err)
	case req.fact == nil:
		p.accept()
		p.applyRules(now, a.rules)
	default:
		if p.accept() {
			p.askAll()
		}
		p.applyVerdict(now, req.fact, decided(a.verdict.Allowed))
	}
	if p.asking() {
		p.soon = later(p.soon, now)
		return
	}
	p.rest(now)
}

// fail keeps what is known and asks again later.
func (p *place) fail(now time.Time, req request) {
	p.failures++
	p.retry = now.Add(p.owner.retry(p.failures))
	switch {
	case req.fact == nil && (!req.routine || !p.reviewed()):
		p.askRules = true
	case req.routine:
		p.routine, p.hasten = p.retry, p.hasten || p.notify
	default:
		req.fact.ask = true
	}
}

// refuse takes in that the identity itself is refused: nothing of what was known
// counts.
func (p *place) refuse(err error) {
	if p.refusal == nil || p.refusal.Error() != err.Error() {
		p.refusal, p.turned = err, true
		p.change()
	}
	p.rules, p.askRules, p.full = nil, false, false
	kept := p.facts[:0]
	for _, f := range p.facts {
		if f.keeps == 0 {
			delete(p.index, f.access)
			continue
		}
		*f = fact{access: f.access, keeps: f.keeps}
		kept = append(kept, f)
	}
	clear(p.facts[len(kept):])
	p.facts = kept
}

// accept takes in that the identity is not refused, and says whether that is new.
func (p *place) accept() bool {
	if p.refusal == nil {
		return false
	}
	p.refusal, p.turned = nil, true
	p.change()
	return true
}

// applyRules takes an answer for everything in. Access reviews follow for what the
// rules leave open, in a full review and when the rules have changed; a routine probe
// without news remains one request.
func (p *place) applyRules(now time.Time, rules Rules) {
	news := p.full || p.rules == nil || p.rules.Incomplete != rules.Incomplete
	for _, f := range p.facts {
		news = news || f.ruled != rules.Decide(f.access)
	}
	p.rules, p.ruledAt = &rules, now
	for _, f := range p.facts {
		p.rule(f, news, p.askRules)
	}
	p.forget(now)
}

// rule applies the rules to one fact. again: they will be asked for once more, by a
// request that may confirm a refusal, as this one may not.
func (p *place) rule(f *fact, news, again bool) {
	f.ruled = p.rules.Decide(f.access)
	open := p.open(f)
	if f.asked == f.ruled || f.ruled == Denied && !open {
		f.asked = Unknown
	}
	if f.asked == Unknown && !open {
		p.set(f, f.ruled)
	}
	if f.asked != Unknown || open {
		f.ask = f.ask || news || !f.known
	}
	if f.refused && !again {
		f.refused = false
		f.ask = f.ask || f.current != Denied
	}
}

// applyVerdict takes the answer to an access review in. If it is news that no full
// review has found, everything is reviewed.
func (p *place) applyVerdict(now time.Time, f *fact, d Decision) {
	if p.index[f.access] != f {
		return // nobody keeps it any more
	}
	moved := f.current != d
	if f.asked = d; p.rules != nil && f.ruled == d {
		f.asked = Unknown
	}
	if !moved && d == Allowed && p.notify {
		p.confirmed = now
	}
	first := !f.known || f.keeps == 0
	p.set(f, d)
	if moved && !first && !p.full {
		p.follow(now, f)
	}
	p.forget(now)
}

// follow reviews everything, because an access review had news. Rules that said
// otherwise a moment ago will lag for another moment.
func (p *place) follow(now time.Time, f *fact) {
	if p.rules != nil && !p.rules.Incomplete {
		p.hint.raise(now, urgent)
		return
	}
	p.askAll()
	f.ask = false
}

// set changes a decision.
func (p *place) set(f *fact, d Decision) {
	if f.known && f.current == d {
		return
	}
	p.turned = p.turned || f.known
	f.current, f.known = d, true
	p.change()
}

// change notes that a decision or the refusal has changed.
func (p *place) change() {
	p.owner.generations++
	p.generation = p.owner.generations
	p.moved, p.untold = true, true
	p.history.renew()
}

// forget drops the facts that nobody keeps and that are old, or say nothing more than
// the rules.
func (p *place) forget(now time.Time) {
	for i := len(p.facts) - 1; i >= 0; i-- {
		f := p.facts[i]
		if f.keeps == 0 && (!f.holds(now) || !f.ask && !f.refused && f.asked != Denied) {
			p.drop(f)
		}
	}
}

// rest ends a review.
func (p *place) rest(now time.Time) {
	if p.turned {
		p.hint.calm()
	}
	wait := p.owner.gap()
	if p.moved {
		wait = quickly
	}
	if !p.hasten {
		p.routine = now.Add(wait)
	}
	p.rested, p.moved, p.turned, p.full = now, false, false, false
}
