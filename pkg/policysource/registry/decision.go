package registry

import (
	"cmp"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// Decision is what is to be run, and what became of each policy.
type Decision struct {
	// Programs are to be run, Retire to be cleaned up after. Both are sorted by id.
	Programs, Retire []*policy.Program
	// Policies are all policies, those that go before others first.
	Policies []PolicyState
	// Next is when the passing of time will change the decision; zero for never.
	Next time.Time
}

// State is what became of a policy.
type State string

// The states of a policy.
const (
	// Valid: it compiles, and is run.
	Valid State = "valid"
	// Invalid: it does not compile, or cannot be read.
	Invalid State = "invalid"
	// Superseded: another policy has its namespace and name, or its owners.
	Superseded State = "superseded"
	// Stopped: its file does not have it any more, or is not there. Nobody has said that it is
	// to be cleaned up after, so that what it made stays.
	Stopped State = "stopped"
)

// Resolution is what a decision says of a policy.
type Resolution struct {
	State State
	// Reason is one of v1alpha1.Reason*, Message says what is wrong; both empty for Valid.
	Reason, Message string
	// Program is what is run, or cleaned up after; nil for nothing. It may be an older version, or one
	// that only cleans up.
	Program *policy.Program
}

// PolicyState is one policy as a decision has it.
type PolicyState struct {
	Key
	Resolution
	ID string // of Program; empty if that is nil
	// AwaitsFinalizer: it is run when its finalizer is there.
	AwaitsFinalizer bool
	// Missing: its manifest does not have it any more. Deleting: its object is being deleted.
	Missing, Deleting bool
	// RetiredBySpec: it says itself that it is to be cleaned up after.
	RetiredBySpec bool
	// Retiring: it is being cleaned up after. CleanedUp: that is over. WhyAbandoned is then why nobody
	// can clean up what is left; empty if nothing is.
	Retiring, CleanedUp bool
	WhyAbandoned        string
	// Generation and UID are those of the object; zero for files.
	Generation int64
	UID        string
}

func (e *entry) policyState() PolicyState {
	return PolicyState{
		Key: e.key, Resolution: e.resolution, ID: ProgramID(e.resolution.Program), AwaitsFinalizer: e.awaitsFinalizer(),
		Missing: !e.absentSince.IsZero(), Deleting: e.deleting, RetiredBySpec: e.retiredBySpec(),
		Retiring: e.isRetiring, CleanedUp: e.isFinished, WhyAbandoned: e.whyAbandoned, Generation: e.generation, UID: string(e.uid),
	}
}

// DecidePolicies chooses what is run. The same entries give the same decision.
func (b *Registry) DecidePolicies(now time.Time) Decision {
	b.dropFinished(now)
	all := b.entriesByPrecedence()
	inheritLastGood(all, now)
	c := &resolver{now: now, names: map[string]*entry{}}
	for _, e := range all {
		c.claimName(e)
	}
	var claimants []*entry
	for _, e := range all {
		if c.admitEntry(e) {
			claimants = append(claimants, e)
		}
	}
	slices.SortStableFunc(claimants, func(x, y *entry) int { return cmp.Compare(x.claimOrder(), y.claimOrder()) })
	for _, e := range claimants {
		c.acceptEntry(e)
	}
	return c.buildDecision(all)
}

// inheritLastGood gives an entry that has never compiled the last good version of what was run under its name and
// has gone: a file that was renamed, an object that was made anew. It does so within one kind of source and one
// namespace only, for the version has an identity.
func inheritLastGood(all []*entry, now time.Time) {
	type heritage struct {
		kind            manifest.Kind
		namespace, name string
	}
	heritageOf := func(e *entry) heritage {
		return heritage{e.key.Origin.Kind, e.key.Namespace, e.key.Name}
	}
	left := map[heritage]*policy.Program{}
	for _, gone := range all {
		if where := gone.lifecycleAt(now); gone.isRunning && where != present || gone.everRan && where == stopped {
			left[heritageOf(gone)] = gone.lastGood
		}
	}
	for _, e := range all {
		if good, ok := left[heritageOf(e)]; ok && e.key.Name != "" && e.lifecycleAt(now) == present && e.current.Program == nil && e.lastGood == nil {
			e.lastGood = good
		}
	}
}

// dropFinished drops the entries of what is gone and needs nothing any more.
func (b *Registry) dropFinished(now time.Time) {
	named := b.unreadableManifests()
	for key, e := range b.entries {
		gone := !e.absentSince.IsZero()
		switch {
		case gone && e.isFinished,
			gone && e.lifecycleAt(now) == leaving && !e.isRunning && !e.isRetiring && !e.everRan,
			key.Name == "" && gone:
			delete(b.entries, key)
		case key.Name == "" && named[key.Origin]:
			delete(b.entries, key)
		}
	}
}

// unreadableManifests are the texts that cannot be read and have a policy with a name, so that what is
// wrong with the text is said of that.
func (b *Registry) unreadableManifests() map[manifest.Origin]bool {
	found := map[manifest.Origin]bool{}
	for key, e := range b.entries {
		if key.Name != "" && e.unreadable != nil {
			found[key.Origin] = true
		}
	}
	return found
}

// buildDecision puts together what was chosen.
func (c *resolver) buildDecision(all []*entry) Decision {
	d := Decision{}
	for _, e := range all {
		if e.isFinished && !e.absentSince.IsZero() {
			continue // the next decision forgets it
		}
		switch {
		case e.isRunning:
			d.Programs = append(d.Programs, e.resolution.Program)
		case e.isRetiring:
			d.Retire = append(d.Retire, e.resolution.Program)
		}
		if due := e.absentSince.Add(DeletionGrace); e.lifecycleAt(c.now) == brieflyMissing && (d.Next.IsZero() || due.Before(d.Next)) {
			d.Next = due
		}
		d.Policies = append(d.Policies, e.policyState())
	}
	slices.SortFunc(d.Programs, comparePrograms)
	slices.SortFunc(d.Retire, comparePrograms)
	return d
}

// ProgramID returns the id of a policy: its namespace, if it has one, and name, joined by a slash; empty for nil.
func ProgramID(p *policy.Program) string {
	if p == nil {
		return ""
	}
	return v1alpha1.PolicyID(p.Namespace, p.Name)
}

func comparePrograms(a, b *policy.Program) int { return cmp.Compare(ProgramID(a), ProgramID(b)) }

func compareKeys(a, b Key) int {
	return cmp.Or(manifest.CompareOrigins(a.Origin, b.Origin), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Nth, b.Nth))
}
