package policysource

import (
	"cmp"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// State says what became of a document.
type State string

// The states of a document.
const (
	// Valid: it compiles, and is run.
	Valid State = "valid"
	// Invalid: it does not compile, or cannot be read.
	Invalid State = "invalid"
	// Superseded: another policy has its name or its owners.
	Superseded State = "superseded"
	// Stopped: its file has no more text of it, or is not there. Nobody has said that it is
	// to be cleaned up after, so that what it made stays.
	Stopped State = "stopped"
)

// decision is what is to be run, and what is to be said of each document.
type decision struct {
	// programs are to be run, retire to be cleaned up after: sorted by id.
	programs, retire []*policy.Program
	// documents are sorted by priority.
	documents []document
	// next is when time alone will change something; zero for never.
	next time.Time
}

// document is one policy as a decision has it.
type document struct {
	entryKey
	verdict
	id string // of verdict.program; else empty
	// good: it is the version as it is written now that is run.
	good bool
	// held: it waits for its finalizer. retiring, done, deleting and guarded are as in
	// entry; missing: its text is gone.
	held, retiring, done, deleting, guarded, unguardable, missing bool
	// retires: its text says that it is to be cleaned up after.
	retires    bool
	abandoned  string // as in entry
	generation int64
	uid        string
}

// whereabouts says whether an entry counts.
type whereabouts int

const (
	present whereabouts = iota
	missing             // for less than absence
	stopped             // for longer, and nobody has said that it was removed
	leaving             // deleted, or retired by its own text
)

func (e *entry) whereabouts(now time.Time) whereabouts {
	switch {
	case e.deleting, e.retires():
		return leaving
	case e.absent.IsZero():
		return present
	case now.Sub(e.absent) < absence:
		return missing
	case e.kept:
		return stopped
	}
	return leaving
}

// retires reports whether the text of an entry says that it is to be cleaned up after.
func (e *entry) retires() bool {
	p := e.runnable()
	return p != nil && p.Retire
}

// runnable returns the best that can be run of an entry; nil for nothing.
func (e *entry) runnable() *policy.Program {
	switch {
	case e.now.program != nil:
		return e.now.program
	case e.good != nil:
		return e.good
	}
	return e.now.salvaged
}

// reachesOut says whether what can be run of an entry may serve owners in namespaces of
// others: it is in a namespace that is not Ambit's own, and says another scope than that.
// Nobody is to stop those who live there by writing their namespace.
func (e *entry) reachesOut() bool {
	p := e.runnable()
	return !e.claim.home && (p.NamespaceSelector != nil || len(p.Namespaces) == 0 ||
		slices.ContainsFunc(p.Namespaces, func(n string) bool { return n != e.key.origin.Namespace }))
}

// turn is when an entry may take owners, the lowest first: what reaches out comes after
// what does not, and what can only clean up after all, so that it is in nobody's way.
func (e *entry) turn() int {
	turn := 0
	if e.reachesOut() {
		turn++
	}
	if e.runnable().CleanupOnly != nil {
		turn += 2
	}
	return turn
}

// mistake is what is wrong with an entry now; nil for nothing.
func (e *entry) mistake() error {
	if e.illegible != nil {
		return e.illegible
	}
	return e.now.mistake
}

// decide chooses what is run. The same entries give the same decision.
func (b *book) decide(now time.Time) decision {
	b.forget(now)
	all := b.sorted()
	inherit(all, now)
	c := &choice{now: now, names: map[string]*entry{}}
	for _, e := range all {
		c.name(e)
	}
	var claimants []*entry
	for _, e := range all {
		if c.admit(e) {
			claimants = append(claimants, e)
		}
	}
	slices.SortStableFunc(claimants, func(x, y *entry) int { return cmp.Compare(x.turn(), y.turn()) })
	for _, e := range claimants {
		c.accept(e)
	}
	return c.decision(all)
}

// inherit gives what has never compiled the last good version of what was run under its
// name and has gone: a file that was renamed, an object that was made anew. It does so
// within one kind of source and one namespace only, for the version has an identity.
func inherit(all []*entry, now time.Time) {
	type heritage struct {
		kind            Kind
		namespace, name string
	}
	heritageOf := func(e *entry) heritage {
		return heritage{e.key.origin.Kind, e.key.origin.Namespace, e.key.name}
	}
	left := map[heritage]*policy.Program{}
	for _, gone := range all {
		if where := gone.whereabouts(now); gone.running && where != present || gone.ran && where == stopped {
			left[heritageOf(gone)] = gone.good
		}
	}
	for _, e := range all {
		if good, ok := left[heritageOf(e)]; ok && e.key.name != "" && e.whereabouts(now) == present && e.now.program == nil && e.good == nil {
			e.good = good
		}
	}
}

// forget drops the entries of what is gone and needs nothing any more.
func (b *book) forget(now time.Time) {
	named := b.named()
	for key, e := range b.entries {
		gone := !e.absent.IsZero()
		switch {
		case gone && e.done,
			gone && e.whereabouts(now) == leaving && !e.running && !e.retiring && !e.ran,
			key.name == "" && gone:
			delete(b.entries, key)
		case key.name == "" && named[key.origin]:
			delete(b.entries, key)
		}
	}
}

// named are the texts that cannot be read and have a policy with a name, so that what is
// wrong with the text is said of that.
func (b *book) named() map[Origin]bool {
	found := map[Origin]bool{}
	for key, e := range b.entries {
		if key.name != "" && e.illegible != nil {
			found[key.origin] = true
		}
	}
	return found
}

// decision puts together what was chosen.
func (c *choice) decision(all []*entry) decision {
	d := decision{}
	for _, e := range all {
		if e.done && !e.absent.IsZero() {
			continue // the next decision forgets it
		}
		switch {
		case e.running:
			d.programs = append(d.programs, e.verdict.program)
		case e.retiring:
			d.retire = append(d.retire, e.verdict.program)
		}
		if due := e.absent.Add(absence); e.whereabouts(c.now) == missing && (d.next.IsZero() || due.Before(d.next)) {
			d.next = due
		}
		d.documents = append(d.documents, e.document())
	}
	slices.SortFunc(d.programs, comparePrograms)
	slices.SortFunc(d.retire, comparePrograms)
	return d
}

func (e *entry) document() document {
	return document{
		entryKey: e.key, verdict: e.verdict, id: idOf(e.verdict.program),
		good: e.verdict.program != nil && e.verdict.program == e.now.program && e.illegible == nil,
		held: e.held(), retiring: e.retiring, done: e.done, retires: e.retires(), abandoned: e.abandoned, deleting: e.deleting, guarded: e.guarded, unguardable: e.unguardable,
		missing: !e.absent.IsZero(), generation: e.generation, uid: string(e.uid),
	}
}

// idOf is how the engine calls a policy; empty for nil.
func idOf(p *policy.Program) string {
	switch {
	case p == nil:
		return ""
	case p.Namespace == "":
		return p.Name
	}
	return p.Namespace + "/" + p.Name
}

func comparePrograms(a, b *policy.Program) int { return cmp.Compare(idOf(a), idOf(b)) }

func compareKeys(a, b entryKey) int {
	return cmp.Or(compareOrigins(a.origin, b.origin), cmp.Compare(a.name, b.name), cmp.Compare(a.nth, b.nth))
}
