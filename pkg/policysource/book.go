package policysource

import (
	"errors"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// absence is how long a policy must be gone from complete readings before it is taken
// for deleted: files are replaced, and objects made anew, in less.
const absence = 5 * time.Second

// doubtful marks the digest of a text that lacks something, and is to be read again.
const doubtful = " (doubtful)"

// mostKinds is of how many kinds that a policy names schemas are asked for: one that names
// more has more children and watches than a policy may have.
const mostKinds = 100

// entryKey is one policy of a text. Those without a name, and the second of one name,
// are told apart by nth. It is comparable.
type entryKey struct {
	origin Origin
	name   string
	nth    int
}

// entry is what is known of one policy.
type entry struct {
	key   entryKey
	claim claim
	now   compiled
	// good is the last version that compiled; nil if there was none.
	good *policy.Program
	// source is the document of good, if it is from here; else nil.
	source *syntax.Document
	// illegible is why the text cannot be read as a whole now; nil if it can.
	illegible error
	// absent is since when it is gone from complete readings; zero: it is there.
	absent time.Time
	// kept: nobody has said that it was removed, so that being absent it is stopped, and not
	// retired. Only of files.
	kept bool

	uid                            types.UID
	generation                     int64
	deleting, guarded, unguardable bool
	// owned: it was seen to have owners, by this Ambit or by one before as its status
	// says.
	owned bool

	// running and retiring: the last decision has it among the programs to run, or to
	// clean up after. ran: some decision had, so that it is to be cleaned up after when it is
	// deleted, whoever has its owners by then. done: there is nothing to clean up any more.
	running, retiring, ran, done bool
	// abandoned is why there is nothing to clean up any more although not all of it was:
	// nobody can. Empty unless done.
	abandoned string
	verdict   verdict
}

// verdict is what the last decision says of an entry.
type verdict struct {
	state           State
	reason, message string
	program         *policy.Program // what is run or retired; nil for nothing
}

// book is all that is known of policies: pure, and not safe for concurrent use. It is
// told what the shelves hold (read), and decides (decide).
type book struct {
	own string // Ambit's own namespace
	// retireFiles: a policy is retired whose text is removed from a file, or with the file.
	retireFiles bool

	digests map[Origin]string // of the texts that entries are made of
	entries map[entryKey]*entry
}

func newBook(own string) *book {
	return &book{own: own, digests: map[Origin]string{}, entries: map[entryKey]*entry{}}
}

// read takes in what the shelves hold. The order of the texts is irrelevant. It costs as
// much as there are texts and entries, for it is done for each event.
func (b *book) read(s snapshot, now time.Time) {
	seen := make(map[Origin]*text, len(s.texts))
	for i := range s.texts {
		t := &s.texts[i]
		seen[t.origin] = t
		if known := b.digests[t.origin]; known != t.digest && (known != t.digest+doubtful || t.steady) {
			b.digests[t.origin] = t.digest
			b.open(*t, now)
		}
	}
	maps.DeleteFunc(b.digests, func(o Origin, _ string) bool { return seen[o] == nil })
	for key, e := range b.entries {
		if t := seen[key.origin]; t != nil {
			e.take(t)
			continue
		}
		switch covers := s.covers(key.origin); {
		case covers != unseen:
			b.miss(e, covers, now)
		case e.whereabouts(now) != stopped:
			e.absent = time.Time{}
		}
	}
}

// miss notes that a policy is gone from a complete reading.
func (b *book) miss(e *entry, covers coverage, now time.Time) {
	if e.absent.IsZero() {
		e.absent = now
	}
	e.kept = e.key.origin.Kind == File && (!b.retireFiles || covers == notThere)
}

// take takes in what is known of the object that a text stands in.
func (e *entry) take(t *text) {
	if e.uid != t.uid { // another object of that name
		e.done, e.abandoned, e.owned = false, "", false
	}
	e.owned = e.owned || t.owned
	e.claim.created, e.uid, e.generation = t.created, t.uid, t.generation
	e.deleting, e.guarded, e.unguardable = t.deleting, t.guarded, t.unguardable
}

// open makes entries of a text that is new. Those that it does not have any more are
// absent. Of a text that is not legible as a whole all stays as it was; if nothing was
// known of it, what is legible is taken. What lacks something of what is run, and may be
// written still, is not taken before it is steady.
func (b *book) open(t text, now time.Time) {
	if t.reading == nil {
		t.reading = read(t, b.own, nil)
	}
	documents, illegible := t.reading.documents, t.reading.illegible
	switch isEmpty := errors.Is(illegible, errNoPolicy); {
	case isEmpty && b.knows(t.origin):
		illegible = nil // it has no more text of those
	case !isEmpty && illegible != nil && b.keep(t.origin, illegible):
		return
	}
	found := map[entryKey]bool{}
	for _, d := range documents {
		key := entryKey{origin: t.origin, name: d.name}
		for found[key] {
			key.nth++
		}
		found[key] = true
		e := b.entry(key)
		if !t.steady && e.source != nil && d.document.Lacks(e.source) {
			b.digests[t.origin] = t.digest + doubtful
			e.illegible, e.absent = nil, time.Time{}
			continue
		}
		e.claim.index, e.illegible, e.absent, e.done, e.abandoned = d.index, nil, time.Time{}, false, ""
		if e.now = d.compiled; e.now.program != nil {
			e.good, e.source = e.now.program, d.document
		}
	}
	if illegible != nil && !b.keep(t.origin, illegible) {
		e := b.entry(nameless(t.origin))
		e.illegible, e.absent, e.done, e.abandoned = illegible, time.Time{}, false, ""
		found[e.key] = true
	}
	for key, e := range b.entries {
		if key.origin == t.origin && !found[key] {
			b.miss(e, removed, now)
		}
	}
}

// nameless is the entry that says why a text cannot be read of which nothing is known.
func nameless(o Origin) entryKey {
	if o.Kind == CustomResource {
		return entryKey{origin: o, name: o.Name}
	}
	return entryKey{origin: o}
}

// knows reports whether a policy with a name is known of a text.
func (b *book) knows(o Origin) bool {
	for k := range b.entries {
		if k.origin == o && k.name != "" {
			return true
		}
	}
	return false
}

// keep notes why a text cannot be read with all that is known of it: false, if that is
// nothing.
func (b *book) keep(o Origin, err error) bool {
	known := false
	for k, e := range b.entries {
		if k.origin == o && k.name != "" {
			known = true
			e.illegible, e.absent = err, time.Time{}
		}
	}
	return known
}

// entry returns the entry of a key, a new one if there is none.
func (b *book) entry(key entryKey) *entry {
	e, ok := b.entries[key]
	if !ok {
		home := key.origin.Kind == File || key.origin.Namespace == b.own
		e = &entry{key: key, claim: claim{origin: key.origin, home: home}}
		b.entries[key] = e
	}
	return e
}

// finished notes that the engine has cleaned up after a policy, or why it never will.
func (b *book) finished(id, abandoned string) {
	for _, e := range b.entries {
		if e.retiring && idOf(e.verdict.program) == id {
			e.done, e.abandoned, e.ran = true, abandoned, false
		}
	}
}

// hasOwners notes that a policy that is cleaned up after has owners.
func (b *book) hasOwners(id string) {
	for _, e := range b.entries {
		if e.retiring && idOf(e.verdict.program) == id {
			e.owned = true
		}
	}
}

// mayLetGo says whether a policy that cannot look for owners may be taken for one that
// has none: a custom resource, which nobody could delete otherwise, that was never seen
// to have any.
func (b *book) mayLetGo(id string) bool {
	for _, e := range b.entries {
		if e.retiring && idOf(e.verdict.program) == id {
			return e.key.origin.Kind == CustomResource && !e.owned
		}
	}
	return false
}

// sorted returns all entries by priority.
func (b *book) sorted() []*entry {
	all := make([]*entry, 0, len(b.entries))
	for _, e := range b.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y *entry) int {
		if c := compareClaims(x.claim, y.claim); c != 0 {
			return c
		}
		return compareKeys(x.key, y.key)
	})
	return all
}
