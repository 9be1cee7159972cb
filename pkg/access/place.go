package access

import (
	"slices"
	"time"
)

// fact is what is known of one access in a place.
type fact struct {
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

// place is one Place that somebody keeps. The Reviewer's mutex guards it, but for
// what never changes: owner, Place, and the access of a fact.
type place struct {
	Key
	owner *Reviewer
	subs  map[ChangeHandler]kept
	index map[Access]*fact
	facts []*fact // those of index, in the order they came

	rules      *Rules    // the last answer; nil: none
	ruledAt    time.Time // of rules
	at         time.Time
	refusal    error
	generation uint64

	// What is to be asked. One request of a place is under way at a time.
	flying    bool
	ruling    bool      // it asks for the rules
	askRules  bool      // the rules are wanted
	full      bool      // a review of everything is in progress
	soon      time.Time // when to send what is asked: askRules, or the ask of facts
	hint      hint
	routine   time.Time // of the next routine probe, while something is denied
	hasten    bool      // the next routine probe is urgent
	turn      int       // of access reviews that are done in turn
	alternate bool      // the next routine probe is an access review, not the rules

	history   history
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
	class class
	due   time.Time
	payer Payer
	slot  int // of the payer's line; -1: not there
	gone  bool
}

// kept is what a subscriber keeps of a place. The slice is the caller's.
type kept struct {
	accesses []Access
	payer    Payer
}

func newPlace(owner *Reviewer, at Key) *place {
	return &place{
		Key: at, owner: owner, slot: -1,
		subs: map[ChangeHandler]kept{}, index: map[Access]*fact{},
	}
}

// keep replaces what a subscriber keeps.
func (p *place) keep(sub ChangeHandler, accesses []Access, payer Payer, now time.Time) {
	before := p.subs[sub].accesses
	for _, a := range accesses {
		p.fact(a, now).keeps++
	}
	for _, a := range before {
		f := p.index[a]
		if f.keeps--; f.keeps == 0 {
			p.drop(f)
		}
	}
	if p.subs[sub] = (kept{accesses, payer}); len(accesses) == 0 {
		delete(p.subs, sub)
	}
}

// holds says whether a fact still counts.
func (f *fact) holds(now time.Time) bool { return f.keeps > 0 || now.Sub(f.since) < memory }

// fact returns the fact of an access, a new one if need be.
func (p *place) fact(a Access, now time.Time) *fact {
	f := p.index[a]
	if f != nil && !f.holds(now) {
		p.drop(f)
		f = nil
	}
	if f == nil {
		f = &fact{access: a}
		p.index[a] = f
		p.facts = append(p.facts, f)
		p.learn(f, now)
	}
	return f
}

// learn takes what is known of a new fact from the rules, or asks. That it is denied
// is believed only if that is not old: nobody has looked since.
func (p *place) learn(f *fact, now time.Time) {
	if p.refusal != nil || p.ruling {
		return // the next answer tells
	}
	if p.rules != nil {
		f.ruled = p.rules.Decide(f.access)
		if f.ruled == Allowed || !p.open(f) && now.Sub(p.ruledAt) <= fresh {
			f.current, f.known = f.ruled, true
			return
		}
	}
	p.want(now)
	if p.rules != nil && p.open(f) && now.Sub(p.ruledAt) <= fresh {
		f.ask = true
	} else {
		p.askRules = true
	}
}

// drop forgets a fact.
func (p *place) drop(f *fact) {
	delete(p.index, f.access)
	p.facts = slices.DeleteFunc(p.facts, func(other *fact) bool { return other == f })
}
