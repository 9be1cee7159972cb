package access

import (
	"errors"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// reviewAnswer is the outcome of a request: rules or verdict as it asked, or an error.
type reviewAnswer struct {
	rules   Rules
	verdict Verdict
	err     error
	// refusal: err says that the identity itself is refused.
	refusal bool
}

// isRefusal says whether a review was refused, other than failed.
func isRefusal(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

// IsMissingRight tells the authorizer's 403 to a request from the ones that admission gives (quota,
// escalation, policies). There is no machine-readable difference: the authorizer's answer is worded
// `User "x" cannot create resource "y"`.
func IsMissingRight(err error) bool {
	var status apierrors.APIStatus
	if !apierrors.IsForbidden(err) || !errors.As(err, &status) {
		return false
	}
	text := status.Status().Message
	return strings.Contains(text, `User "`) && strings.Contains(text, " cannot ") && strings.Contains(text, ` resource "`)
}

// settleAnswer takes the answer to a request in.
func (p *reviewState) settleAnswer(now time.Time, req reviewRequest, a reviewAnswer) {
	p.flying, p.ruling = false, false
	if a.err != nil && !a.refusal {
		p.recordFailure(now, req)
		return
	}
	p.failures, p.retry, p.at = 0, time.Time{}, now
	switch {
	case a.refusal:
		p.recordRefusal(a.err)
	case req.fact == nil:
		p.acceptIdentity()
		p.applyRules(now, a.rules)
	default:
		if p.acceptIdentity() {
			p.requestAll()
		}
		p.applyVerdict(now, req.fact, decisionOf(a.verdict.Allowed))
	}
	if p.isAsking() {
		p.soon = laterOf(p.soon, now)
		return
	}
	p.startResting(now)
}

// recordFailure keeps what is known and asks again later.
func (p *reviewState) recordFailure(now time.Time, req reviewRequest) {
	p.failures++
	p.retry = now.Add(p.owner.retryAfter(p.failures))
	switch {
	case req.fact == nil && (!req.routine || !p.isReviewed()):
		p.askRules = true
	case req.routine:
		p.routine, p.hasten = p.retry, p.hasten || p.notify
	default:
		req.fact.ask = true
	}
}

// recordRefusal takes in that the identity itself is refused: nothing of what was known
// counts.
func (p *reviewState) recordRefusal(err error) {
	if p.refusal == nil || p.refusal.Error() != err.Error() {
		p.refusal, p.turned = err, true
		p.notifyChange()
	}
	p.rules, p.askRules, p.full = nil, false, false
	kept := p.facts[:0]
	for _, f := range p.facts {
		if f.keeps == 0 {
			delete(p.index, f.access)
			continue
		}
		*f = decisionRecord{access: f.access, keeps: f.keeps}
		kept = append(kept, f)
	}
	clear(p.facts[len(kept):])
	p.facts = kept
}

// acceptIdentity takes in that the identity is not refused, and says whether that is new.
func (p *reviewState) acceptIdentity() bool {
	if p.refusal == nil {
		return false
	}
	p.refusal, p.turned = nil, true
	p.notifyChange()
	return true
}

// applyRules takes an answer for everything in. Access reviews follow for what the
// rules leave open, in a full review and when the rules have changed; a routine probe
// without news remains one request.
func (p *reviewState) applyRules(now time.Time, rules Rules) {
	news := p.full || p.rules == nil || p.rules.Incomplete != rules.Incomplete
	for _, f := range p.facts {
		news = news || f.ruled != rules.Decide(f.access)
	}
	p.rules, p.ruledAt = &rules, now
	for _, f := range p.facts {
		p.applyRule(f, news, p.askRules)
	}
	p.forgetUnused(now)
}

// applyRule applies the rules to one decision record. again: they will be asked for once more, by a
// request that may confirm a refusal, as this one may not.
func (p *reviewState) applyRule(f *decisionRecord, news, again bool) {
	f.ruled = p.rules.Decide(f.access)
	open := p.isUndecided(f)
	if f.asked == f.ruled || f.ruled == Denied && !open {
		f.asked = Unknown
	}
	if f.asked == Unknown && !open {
		p.setDecision(f, f.ruled)
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
func (p *reviewState) applyVerdict(now time.Time, f *decisionRecord, d Decision) {
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
	p.setDecision(f, d)
	if moved && !first && !p.full {
		p.followChange(now, f)
	}
	p.forgetUnused(now)
}

// followChange reviews everything, because an access review had news. Rules that said
// otherwise a moment ago will lag for another moment.
func (p *reviewState) followChange(now time.Time, f *decisionRecord) {
	if p.rules != nil && !p.rules.Incomplete {
		p.hint.raiseFor(now, urgent)
		return
	}
	p.requestAll()
	f.ask = false
}

// setDecision changes a decision.
func (p *reviewState) setDecision(f *decisionRecord, d Decision) {
	if f.known && f.current == d {
		return
	}
	p.turned = p.turned || f.known
	f.current, f.known = d, true
	p.notifyChange()
}

// notifyChange notes that a decision or the refusal has changed.
func (p *reviewState) notifyChange() {
	p.owner.generations++
	p.generation = p.owner.generations
	p.moved, p.untold = true, true
	p.history.renewHistory()
}

// forgetUnused drops the decision records that nobody keeps and that are old, or say nothing more than
// the rules.
func (p *reviewState) forgetUnused(now time.Time) {
	for i := len(p.facts) - 1; i >= 0; i-- {
		f := p.facts[i]
		if f.keeps == 0 && (!f.isValidAt(now) || !f.ask && !f.refused && f.asked != Denied) {
			p.dropRecord(f)
		}
	}
}

// startResting ends a review.
func (p *reviewState) startResting(now time.Time) {
	if p.turned {
		p.hint.calmDown()
	}
	wait := p.owner.reviewGap()
	if p.moved {
		wait = quickly
	}
	if !p.hasten {
		p.routine = now.Add(wait)
	}
	p.rested, p.moved, p.turned, p.full = now, false, false, false
}
