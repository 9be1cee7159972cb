package access

import (
	"slices"
	"time"
)

// decisionRecord is what is known of one access in a key.
type decisionRecord struct {
	access Access
	// keeps counts who wants to know it; 0: it is only remembered, for a while from
	// since, because a request was refused. That is no reason to probe.
	keeps int
	since time.Time
	// current is what Decide says; known: an answer has been there.
	current Decision
	known   bool
	// ruled is what the last rules say, asked what the last access review said as long
	// as that tells more than the rules.
	ruled, asked Decision
	// ask: an access review is wanted. refused: so is the confirmation of a refusal.
	ask, refused bool
}

// reviewState is one Place that somebody keeps. The Reviewer's mutex guards it, but for
// what never changes: owner, Place, and the access of a decision record.
type reviewState struct {
	Key
	owner *reviewPool
	subs  map[ChangeHandler]subscription
	turns uint64 // the last that a subscription was given
	index map[Access]*decisionRecord
	facts []*decisionRecord // those of index, in the order they came

	rules      *Rules    // the last answer; nil: none
	ruledAt    time.Time // of rules
	at         time.Time
	refusal    error
	generation uint64

	// What is to be asked. One request of a key is under way at a time.
	flying    bool
	ruling    bool      // it asks for the rules
	askRules  bool      // the rules are wanted
	full      bool      // a review of everything is in progress
	soon      time.Time // when to send what is asked: askRules, or the ask of decision records
	hint      invalidation
	routine   time.Time // of the next routine probe, while something is denied
	hasten    bool      // the next routine probe is urgent
	turn      int       // of access reviews that are done in turn
	alternate bool      // the next routine probe is an access review, not the rules

	history   requestHistory
	rested    time.Time // when the last review ended
	confirmed time.Time // when a refusal was last contradicted
	failures  int       // in a row
	retry     time.Time // nothing is sent before, after a failure
	moved     bool      // generation has changed since rested
	turned    bool      // so has something that was known before

	// What subscribers are owed.
	untold bool // generation has changed
	notify bool // a refusal was reported
	owed   bool // it is in the Reviewer's list

	// Of schedule.
	class reviewClass
	due   time.Time
	payer Payer
	slot  int // of the payer's line; -1: not there
	gone  bool
}

// subscription is what a subscriber keeps of a key. The slice is the caller's.
type subscription struct {
	user     *Reviewer
	accesses []Access
	payer    Payer
	turn     uint64 // of its first Require: subscribers are told in this order
}

func newReviewState(owner *reviewPool, at Key) *reviewState {
	return &reviewState{
		Key: at, owner: owner, slot: -1,
		subs: map[ChangeHandler]subscription{}, index: map[Access]*decisionRecord{},
	}
}

// keepSubscription replaces what a subscriber keeps, by what next has, but for its turn.
func (p *reviewState) keepSubscription(sub ChangeHandler, next subscription, now time.Time) {
	was, known := p.subs[sub]
	if !known {
		p.turns++
		was.turn = p.turns
	}
	for _, a := range next.accesses {
		p.recordOf(a, now).keeps++
	}
	for _, a := range was.accesses {
		f := p.index[a]
		if f.keeps--; f.keeps == 0 {
			p.dropRecord(f)
		}
	}
	next.turn = was.turn
	if p.subs[sub] = next; len(next.accesses) == 0 {
		delete(p.subs, sub)
	}
}

// isValidAt says whether a decision record still counts.
func (f *decisionRecord) isValidAt(now time.Time) bool {
	return f.keeps > 0 || now.Sub(f.since) < memory
}

// decideAccess is what Decide says.
func (p *reviewState) decideAccess(a Access, now time.Time) Decision {
	switch f := p.index[a]; {
	case p.refusal != nil:
		return Unknown
	case f != nil && f.isValidAt(now):
		return f.current
	case p.rules == nil:
		return Unknown
	}
	return p.rules.Decide(a)
}

// currentState is what State says.
func (p *reviewState) currentState() State {
	return State{Reviewed: p.isReviewed(), At: p.at, Generation: p.generation, Refusal: p.refusal}
}

// recordOf returns the decision record of an access, a new one if need be.
func (p *reviewState) recordOf(a Access, now time.Time) *decisionRecord {
	f := p.index[a]
	if f != nil && !f.isValidAt(now) {
		p.dropRecord(f)
		f = nil
	}
	if f == nil {
		f = &decisionRecord{access: a}
		p.index[a] = f
		p.facts = append(p.facts, f)
		p.learnRecent(f, now)
	}
	return f
}

// learnRecent takes what is known of a new decision record from the rules, or asks. That it is denied
// is believed only if that is not old: nobody has looked since.
func (p *reviewState) learnRecent(f *decisionRecord, now time.Time) {
	if p.refusal != nil || p.ruling {
		return // the next answer tells
	}
	if p.rules != nil {
		f.ruled = p.rules.Decide(f.access)
		if f.ruled == Allowed || !p.isUndecided(f) && now.Sub(p.ruledAt) <= fresh {
			f.current, f.known = f.ruled, true
			return
		}
	}
	p.wantReview(now)
	if p.rules != nil && p.isUndecided(f) && now.Sub(p.ruledAt) <= fresh {
		f.ask = true
	} else {
		p.askRules = true
	}
}

// dropRecord forgets a decision record.
func (p *reviewState) dropRecord(f *decisionRecord) {
	delete(p.index, f.access)
	p.facts = slices.DeleteFunc(p.facts, func(other *decisionRecord) bool { return other == f })
}
