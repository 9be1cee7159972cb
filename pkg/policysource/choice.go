package policysource

import (
	"fmt"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// choice is one decision in the making.
type choice struct {
	now      time.Time
	names    map[string]*entry // of those that are present, who has the name
	accepted []*policy.Program
	by       []*entry // of accepted
	leavers  []*entry // those that are cleaned up after
}

// admit says whether an entry takes part in the choice; otherwise its verdict is
// there.
func (c *choice) admit(e *entry) bool {
	e.verdict = verdict{state: Valid}
	if err := e.mistake(); err != nil {
		e.verdict = verdict{state: Invalid, reason: v1alpha1.ReasonInvalid, message: brief(err)}
	}
	where, holder := e.whereabouts(c.now), c.names[e.key.name]
	taken := holder != nil && holder != e
	switch {
	case e.key.name == "":
		e.drop()
	case where == present && holder != e:
		e.verdict = verdict{state: Superseded, reason: v1alpha1.ReasonNameTaken, message: nameTaken(e, holder)}
		e.drop()
	case where == present && e.runnable() != nil:
		return true
	case where == present:
		e.drop()
	case e.done || e.runnable() == nil, where != missing && !e.ran && !e.guarded && !e.retires():
		e.drop()
		e.done = where != missing
	case c.heir(e) != nil:
		heir := c.heir(e)
		heir.ran = heir.ran || e.ran || e.guarded
		if e.retires() {
			e.verdict = verdict{state: Superseded, reason: v1alpha1.ReasonNameTaken, message: nameTaken(e, heir)}
		}
		e.drop()
		e.done = where != missing
	case where == missing && (!e.running || taken):
		e.drop()
	case where == stopped && taken:
		e.stop()
	default:
		if holder == nil {
			c.names[e.key.name] = e // of several that have gone, the first
		}
		if where == leaving {
			c.leavers = append(c.leavers, e)
		}
		return true
	}
	return false
}

// heir returns who takes over what an entry has made that has gone: the one that has its
// name, or another one that is cleaned up after; nil for nobody.
func (c *choice) heir(gone *entry) *entry {
	if holder := c.names[gone.key.name]; holder != nil && holder != gone && holder.isHeirOf(gone) {
		return holder
	}
	if i := slices.IndexFunc(c.leavers, func(e *entry) bool { return e.key.name == gone.key.name && e.isHeirOf(gone) }); i >= 0 {
		return c.leavers[i]
	}
	return nil
}

// name gives an entry the name that it wants, unless another one of those before has it by
// right.
func (c *choice) name(e *entry) {
	if !e.keepsName(c.now) {
		return
	}
	holder := c.names[e.key.name]
	succeeds := e.claim.home && holder != nil && holder.whereabouts(c.now) != present // as a file that was renamed
	if holder == nil || succeeds || e.claim.hasBetterName(holder.claim, e.key.name) {
		c.names[e.key.name] = e
	}
}

// keepsName reports whether an entry may have its name: it is there, or it was run for those
// who run Ambit and is gone without a word. Nobody elsewhere takes over what it has made by
// having one of its name ready for the moment in which a file is written.
func (e *entry) keepsName(now time.Time) bool {
	where := e.whereabouts(now)
	if e.key.name == "" || where == leaving {
		return false
	}
	return where == present || e.claim.home && e.runnable() != nil && (e.running || e.ran)
}

// isHeirOf says whether an entry takes over what another one of its name has made, which has
// gone: as its own, for it is found by the name. One in another namespace that has no owners
// in common with it takes over nothing. Of one that nothing can be run of that is not known:
// it is taken for the same policy where those write who wrote the other one.
func (e *entry) isHeirOf(gone *entry) bool {
	p, q := e.runnable(), gone.runnable()
	if p == nil {
		return e.claim.home && gone.claim.home || e.key.origin.Namespace == gone.key.origin.Namespace
	}
	return policy.CheckRemoval([]*policy.Program{p}, []*policy.Program{q}) != nil
}

// drop takes an entry out of what is run.
func (e *entry) drop() { e.running, e.retiring = false, false }

// stop takes an entry out of what is run, and says why.
func (e *entry) stop() {
	e.drop()
	e.verdict = verdict{state: Stopped, reason: v1alpha1.ReasonTextMissing, message: fmt.Sprintf("%s has no more text of policy %q, or is not there: "+
		"its owners are not worked on, and what it made stays. Put the text back, with spec.retire: true if what it made is to be removed", e.key.origin, e.key.name)}
}

// accept runs or retires an entry, unless its owners are taken. Of one that does not
// compile it is said that. What has gone is cleaned up after also where its owners are taken:
// then beside those who have them, and nobody waits for it.
func (c *choice) accept(e *entry) {
	p, where := e.runnable(), e.whereabouts(c.now)
	if where == leaving && p.Suspend {
		active := *p
		active.Suspend = false
		p = &active
	}
	taken := slices.IndexFunc(c.accepted, p.Overlaps)
	switch {
	case taken < 0:
		c.accepted, c.by = append(c.accepted, p), append(c.by, e)
	case where == leaving:
	case where == stopped:
		e.stop()
		return
	default:
		e.drop()
		if where == present && e.verdict.state == Valid {
			e.verdict = verdict{state: Superseded, reason: v1alpha1.ReasonOwnersTaken, message: c.ownersTaken(taken, p)}
		}
		return
	}
	if where == stopped { // it has its owners, and nothing is done for them
		e.stop()
		return
	}
	e.verdict.program = e.runnable()
	e.retiring = where == leaving
	e.running = !e.retiring && !e.held()
	e.ran = e.ran || e.running || e.retiring
}

// held says whether an entry that was accepted waits for its finalizer. What runs is
// not stopped because somebody took it away, and what can only clean up needs none.
func (e *entry) held() bool {
	return e.key.origin.Kind == CustomResource && e.verdict.program != nil && e.verdict.program.CleanupOnly == nil &&
		!e.guarded && !e.unguardable && !e.running && !e.retiring
}

func nameTaken(e, holder *entry) string {
	return fmt.Sprintf("the policy of %s has the name %q already: names are unique in Ambit, whatever the namespace; rename one of them", holder.key.origin, e.key.name)
}

// ownersTaken says which of those accepted has the owners that a program wants.
func (c *choice) ownersTaken(taken int, p *policy.Program) string {
	by := c.by[taken]
	switch {
	case by.verdict.state == Stopped:
		return fmt.Sprintf("policy %q may have the same owners, and is stopped, as %s has no more text of it or is not there: put it back, with spec.retire: true if what it made is to be removed, or start Ambit anew",
			by.key.name, by.key.origin)
	case by.retiring && !by.deleting && by.retires():
		return fmt.Sprintf("policy %q of %s is retired, may have the same owners, and has not cleaned up after them yet", by.key.name, by.key.origin)
	case by.retiring:
		return fmt.Sprintf("policy %q of %s was deleted, may have the same owners, and has not cleaned up after them yet", by.key.name, by.key.origin)
	}
	return fmt.Sprintf("policy %q of %s serves %s in the same namespaces, and is run: an owner has one status; give them different namespaces or owner selectors",
		by.key.name, by.key.origin, p.Owner.GVK.GroupKind())
}
