package registry

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// resolver makes one decision.
type resolver struct {
	now        time.Time
	names      map[string]*entry // who has the name
	accepted   []*policy.Program
	acceptedBy []*entry // the entry of each program of accepted
	retiring   []*entry // the entries that are cleaned up after
}

// admitEntry reports whether an entry may be accepted. If not, its resolution is final.
func (c *resolver) admitEntry(e *entry) bool {
	e.resolution = Resolution{State: Valid}
	if err := e.currentError(); err != nil {
		e.resolution = Resolution{State: Invalid, Reason: v1alpha1.ReasonInvalid, Message: manifest.BriefMessage(err)}
	}
	where, holder := e.lifecycleAt(c.now), c.names[e.policyLabel()]
	isTaken := holder != nil && holder != e
	switch {
	case e.key.Name == "":
		e.takeOut()
	case where == present && holder != e:
		e.resolution = Resolution{State: Superseded, Reason: v1alpha1.ReasonDuplicate, Message: duplicateMessage(e, holder)}
		e.takeOut()
	case where == present && e.bestProgram() != nil:
		return true
	case where == present:
		e.takeOut()
	case e.isFinished || e.bestProgram() == nil, where != brieflyMissing && !e.everRan && !e.hasFinalizer && !e.retiredBySpec():
		e.takeOut()
		e.isFinished = where != brieflyMissing
	case c.successorOf(e) != nil:
		successor := c.successorOf(e)
		successor.everRan = successor.everRan || e.everRan || e.hasFinalizer
		if e.retiredBySpec() {
			e.resolution = Resolution{State: Superseded, Reason: v1alpha1.ReasonDuplicate, Message: duplicateMessage(e, successor)}
		}
		e.takeOut()
		e.isFinished = where != brieflyMissing
	case where == brieflyMissing && (!e.isRunning || isTaken):
		e.takeOut()
	case where == stopped && isTaken:
		e.stopWorking()
	default:
		if holder == nil {
			c.names[e.policyLabel()] = e // of several that have gone, the first
		}
		if where == leaving {
			c.retiring = append(c.retiring, e)
		}
		return true
	}
	return false
}

// successorOf returns who takes over what an entry has made that has gone: the one that has its
// name, or another one that is cleaned up after; nil for nobody.
func (c *resolver) successorOf(gone *entry) *entry {
	if holder := c.names[gone.policyLabel()]; holder != nil && holder != gone && holder.isSuccessorOf(gone) {
		return holder
	}
	if i := slices.IndexFunc(c.retiring, func(e *entry) bool { return e.policyLabel() == gone.policyLabel() && e.isSuccessorOf(gone) }); i >= 0 {
		return c.retiring[i]
	}
	return nil
}

// claimName gives an entry the name that it wants, unless another one of those before has it by
// right.
func (c *resolver) claimName(e *entry) {
	if !e.keepsName(c.now) {
		return
	}
	holder := c.names[e.policyLabel()]
	succeeds := e.precedence.isTrusted && e.lifecycleAt(c.now) == present && holder != nil && holder.lifecycleAt(c.now) != present // as a file that was renamed
	if holder == nil || succeeds {
		c.names[e.policyLabel()] = e
	}
}

// keepsName reports whether an entry may have its name: it is there, or it was run for those who run Ambit
// and is gone without a word, or not cleaned up after yet. Nobody elsewhere takes over what it has made by
// having one of its name ready for the moment in which a file is written, or a policy is retired.
func (e *entry) keepsName(now time.Time) bool {
	wasRun := e.precedence.isTrusted && e.bestProgram() != nil && (e.isRunning || e.everRan)
	switch where := e.lifecycleAt(now); {
	case e.key.Name == "":
		return false
	case where == leaving:
		return wasRun && !e.isFinished
	default:
		return where == present || wasRun
	}
}

// isSuccessorOf reports whether an entry takes over what another one of its name has made, which has gone: it
// takes that for its own, for children are found by the name. If nothing can be run of e, that cannot be decided;
// it counts as the same policy if those write it who wrote the other one.
func (e *entry) isSuccessorOf(gone *entry) bool {
	return e.bestProgram() != nil || e.precedence.isTrusted == gone.precedence.isTrusted
}

// takeOut takes an entry out of what is run.
func (e *entry) takeOut() { e.isRunning, e.isRetiring = false, false }

// stopWorking takes an entry out of what is run, and records why.
func (e *entry) stopWorking() {
	e.takeOut()
	e.resolution = Resolution{State: Stopped, Reason: v1alpha1.ReasonTextMissing, Message: fmt.Sprintf("%s has no more text of policy %q, or is not there: "+
		"its owners are not worked on, and what it made stays. Put the text back, with spec.retire: true if what it made is to be removed", e.key.Origin, e.key.Name)}
}

// acceptEntry runs or retires an entry, unless its owners are taken. Of one that does not
// compile it is said that. What has gone is cleaned up after also where its owners are taken:
// then beside those who have them, and nobody waits for it.
func (c *resolver) acceptEntry(e *entry) {
	p, where := e.bestProgram(), e.lifecycleAt(c.now)
	if where == leaving && p.Suspend {
		active := *p
		active.Suspend = false
		p = &active
	}
	taken := slices.IndexFunc(c.accepted, p.OverlapsWith)
	switch {
	case taken < 0:
		c.accepted, c.acceptedBy = append(c.accepted, p), append(c.acceptedBy, e)
	case where == leaving:
	case where == stopped:
		e.stopWorking()
		return
	default:
		e.takeOut()
		if where == present && e.resolution.State == Valid {
			e.resolution = Resolution{State: Superseded, Reason: v1alpha1.ReasonOwnersTaken, Message: c.ownersTakenMessage(taken, p)}
		}
		return
	}
	if where == stopped { // it has its owners, and nothing is done for them
		e.stopWorking()
		return
	}
	e.resolution.Program = e.bestProgram()
	e.isRetiring = where == leaving
	e.isRunning = !e.isRetiring && !e.awaitsFinalizer()
	e.everRan = e.everRan || e.isRunning || e.isRetiring
}

// awaitsFinalizer reports whether an entry that was accepted waits for its finalizer. What runs is
// not stopped because somebody took it away, and what can only clean up needs none.
func (e *entry) awaitsFinalizer() bool {
	return e.key.Origin.Kind == manifest.CustomResource && e.resolution.Program != nil && e.resolution.Program.CleanupOnly == nil &&
		!e.hasFinalizer && !e.cannotSetFinalizer && !e.isRunning && !e.isRetiring
}

func duplicateMessage(e, holder *entry) string {
	return fmt.Sprintf("policy %q of namespace %q stands in %s as well: rename one of them", holder.key.Name, holder.key.Namespace, holder.key.Origin)
}

// ownersTakenMessage returns which of those accepted has the owners that a program wants.
func (c *resolver) ownersTakenMessage(taken int, p *policy.Program) string {
	by := c.acceptedBy[taken]
	switch {
	case by.resolution.State == Stopped:
		return fmt.Sprintf("policy %q may have the same owners, and is stopped, as %s has no more text of it or is not there: put it back, with spec.retire: true if what it made is to be removed, or start Ambit anew",
			by.key.Name, by.key.Origin)
	case by.isRetiring && !by.deleting && by.retiredBySpec():
		return fmt.Sprintf("policy %q of %s is retired, may have the same owners, and has not cleaned up after them yet", by.key.Name, by.key.Origin)
	case by.isRetiring:
		return fmt.Sprintf("policy %q of %s was deleted, may have the same owners, and has not cleaned up after them yet", by.key.Name, by.key.Origin)
	}
	return fmt.Sprintf("policy %q of %s serves %s in the same namespaces, and is run: an owner has one status; give them different namespaces or owner selectors",
		by.key.Name, by.key.Origin, p.Owner.GVK.GroupKind())
}

// precedence is what decides between two policies that want one name or one owner.
type precedence struct {
	origin  manifest.Origin
	created time.Time
	index   int // of the document in its manifest
	// isTrusted: it is a file, or in Ambit's own namespace, where only those write who run
	// Ambit.
	isTrusted bool
}

// comparePrecedence orders policies, those that go before others first: files, then custom resources, then
// ConfigMaps; of one kind the older object, then by its names. Those in other namespaces come after all in Ambit's
// own: nobody can stop a policy of those who run Ambit by writing another one elsewhere. In other namespaces,
// the namespaces that are served (claimOrder) decide before that.
func comparePrecedence(a, b precedence) int {
	return cmp.Or(
		cmp.Compare(strconv.FormatBool(b.isTrusted), strconv.FormatBool(a.isTrusted)), // as text, too, true comes after false
		cmp.Compare(a.origin.Kind.Precedence(), b.origin.Kind.Precedence()),
		a.created.Compare(b.created),
		manifest.CompareOrigins(a.origin, b.origin),
		cmp.Compare(a.index, b.index),
	)
}

// reachesOtherNamespaces reports whether an entry may serve owners in namespaces of others: it is in a namespace that
// is not Ambit's own, and its scope is not that namespace alone. A policy must not displace a namespace's own
// policies by naming that namespace in its scope.
func (e *entry) reachesOtherNamespaces() bool {
	p := e.bestProgram()
	return !e.precedence.isTrusted && (p.NamespaceSelector != nil || len(p.Namespaces) == 0 ||
		slices.ContainsFunc(p.Namespaces, func(n string) bool { return n != e.key.Origin.Namespace }))
}

// claimOrder returns when an entry may take owners, the lowest first. What reaches other namespaces comes after what
// does not, and what can only clean up comes last, so that it is in nobody's way.
func (e *entry) claimOrder() int {
	order := 0
	if e.reachesOtherNamespaces() {
		order++
	}
	if e.bestProgram().CleanupOnly != nil {
		order += 2
	}
	return order
}
