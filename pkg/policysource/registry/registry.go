// Package registry decides which policies are run. It is pure: it reads no clock and does no I/O. What the sources
// hold goes in as a manifest.Snapshot, and what is run, cleaned up after and said of each policy comes out as a
// Decision. The files in testdata are stories of snapshots and decisions.
//
// # How two policies are told apart
//
// Two policies that want one namespace and name, or the same owners, cannot both run. Which one does depends on the manifests,
// never on the order in which they were seen:
//
//  1. Files, and objects in Ambit's own namespace, go before those of other namespaces. Then files go before
//     custom resources, and these before ConfigMaps. Of one kind the older object goes first (precedence).
//  2. Owners go first to policies that serve their own namespace only, then to those that reach other
//     namespaces, and last to those that can only clean up.
//
// # The life of a policy
//
//	present ──▶ brieflyMissing ──▶ leaving: it is cleaned up after, then forgotten
//	   │              └──────────▶ stopped: its file is gone, and nobody has said that it was removed
//	   └─── deleted, or spec.retire ──▶ leaving
//
// A manifest that is back before DeletionGrace is over is present again. A version that does not compile leaves the
// last good version running. If there was none, what is legible of it only cleans up. If another policy of the same
// namespace and name is there, it takes over what the one that is leaving has made, and nothing is cleaned up.
package registry

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// DeletionGrace is how long a policy must be gone from complete readings before it is taken
// for deleted: files are replaced, and objects made anew, in less.
const DeletionGrace = 5 * time.Second

// doubtfulSuffix marks the digest of a manifest that lacks something, and is to be read again.
const doubtfulSuffix = " (doubtful)"

// Registry has all that is known of policies. It is not safe for concurrent use. TakeSnapshot takes in what
// the sources hold, and DecidePolicies says what is run.
type Registry struct {
	ownNamespace       string
	retireRemovedFiles bool

	digests map[manifest.Origin]string // of the manifests that entries are made of
	entries map[Key]*entry
}

// New returns a registry that knows nothing. own is Ambit's own namespace. retireRemovedFiles:
// a policy that is removed from a file, or with the file, is cleaned up after; else it is Stopped.
func New(own string, retireRemovedFiles bool) *Registry {
	return &Registry{ownNamespace: own, retireRemovedFiles: retireRemovedFiles, digests: map[manifest.Origin]string{}, entries: map[Key]*entry{}}
}

// TakeSnapshot takes in what the sources hold. The order of the manifests is irrelevant. A manifest without
// Contents is compiled, without schemas and functions. The cost is proportional to manifests and entries, for
// TakeSnapshot is called for each event.
func (b *Registry) TakeSnapshot(s manifest.Snapshot, now time.Time) {
	seen := make(map[manifest.Origin]*manifest.Manifest, len(s.Manifests))
	for i := range s.Manifests {
		t := &s.Manifests[i]
		seen[t.Origin] = t
		if known := b.digests[t.Origin]; known != t.Digest && (known != t.Digest+doubtfulSuffix || t.Steady) {
			b.digests[t.Origin] = t.Digest
			b.updateContents(*t, now)
		}
	}
	maps.DeleteFunc(b.digests, func(o manifest.Origin, _ string) bool { return seen[o] == nil })
	for key, e := range b.entries {
		if t := seen[key.Origin]; t != nil {
			e.updateObject(t)
			continue
		}
		switch covers := s.CoverageOf(key.Origin); {
		case covers != manifest.NotSeen:
			b.markAbsent(e, covers, now)
		case e.lifecycleAt(now) != stopped:
			e.absentSince = time.Time{}
		}
	}
}

// markAbsent notes that a policy is gone from a complete reading.
func (b *Registry) markAbsent(e *entry, covers manifest.Coverage, now time.Time) {
	if e.absentSince.IsZero() {
		e.absentSince = now
	}
	e.stopsWhenAbsent = e.key.Origin.Kind == manifest.File && (!b.retireRemovedFiles || covers == manifest.LocationMissing)
}

// updateObject takes in what is known of the object that a manifest stands in.
func (e *entry) updateObject(t *manifest.Manifest) {
	if e.uid != t.UID { // another object of that name
		e.isFinished, e.whyAbandoned, e.hadOwners = false, "", false
	}
	e.hadOwners = e.hadOwners || t.HasOwners
	e.precedence.created, e.uid, e.generation = t.Created, t.UID, t.Generation
	e.deleting, e.hasFinalizer, e.cannotSetFinalizer = t.Deleting, t.HasFinalizer, t.CannotSetFinalizer
}

// updateContents makes entries of a manifest that is new or has changed. Entries that it does not have any
// more are absent. If the manifest is not legible as a whole, all its entries stay as they were; if it
// had none, what is legible is taken. A document that lacks something of what is run, and may be
// written still, is not taken before it is steady.
func (b *Registry) updateContents(t manifest.Manifest, now time.Time) {
	if t.Contents == nil {
		t.Contents = manifest.CompileManifest(t, b.ownNamespace, nil, nil)
	}
	documents, illegible := t.Contents.Documents, t.Contents.Unreadable
	switch isEmpty := errors.Is(illegible, manifest.ErrNoPolicy); {
	case isEmpty && b.hasNamedEntry(t.Origin):
		illegible = nil // it has no more text of those
	case !isEmpty && illegible != nil && b.noteUnreadable(t.Origin, illegible):
		return
	}
	found := map[Key]bool{}
	for _, d := range documents {
		key := Key{Origin: t.Origin, Namespace: d.Namespace, Name: d.Name}
		for found[key] {
			key.Nth++
		}
		found[key] = true
		e := b.entryFor(key)
		if !t.Steady && e.lastGoodDocument != nil && d.Parsed.LacksSomeOf(e.lastGoodDocument) {
			b.digests[t.Origin] = t.Digest + doubtfulSuffix
			e.unreadable, e.absentSince = nil, time.Time{}
			continue
		}
		e.precedence.index, e.unreadable, e.absentSince, e.isFinished, e.whyAbandoned = d.Index, nil, time.Time{}, false, ""
		if e.current = d.Compiled; e.current.Program != nil {
			e.lastGood, e.lastGoodDocument = e.current.Program, d.Parsed
		}
	}
	if illegible != nil && !b.noteUnreadable(t.Origin, illegible) {
		e := b.entryFor(placeholderKey(t.Origin))
		e.unreadable, e.absentSince, e.isFinished, e.whyAbandoned = illegible, time.Time{}, false, ""
		found[e.key] = true
	}
	for key, e := range b.entries {
		if key.Origin == t.Origin && !found[key] {
			b.markAbsent(e, manifest.Removed, now)
		}
	}
}

// placeholderKey returns the key of the entry that says why a manifest cannot be read, if nothing else is
// known of it.
func placeholderKey(o manifest.Origin) Key {
	if o.Kind == manifest.CustomResource {
		return Key{Origin: o, Namespace: o.Namespace, Name: o.Name}
	}
	return Key{Origin: o}
}

// hasNamedEntry reports whether a policy with a name is known of a manifest.
func (b *Registry) hasNamedEntry(o manifest.Origin) bool {
	for k := range b.entries {
		if k.Origin == o && k.Name != "" {
			return true
		}
	}
	return false
}

// noteUnreadable records on all entries with a name of a manifest why it cannot be read. It returns
// false if there are none.
func (b *Registry) noteUnreadable(o manifest.Origin, err error) bool {
	known := false
	for k, e := range b.entries {
		if k.Origin == o && k.Name != "" {
			known = true
			e.unreadable, e.absentSince = err, time.Time{}
		}
	}
	return known
}

// entryFor returns the entry of a key, a new one if there is none.
func (b *Registry) entryFor(key Key) *entry {
	e, ok := b.entries[key]
	if !ok {
		isTrusted := key.Origin.Kind == manifest.File || key.Origin.Namespace == b.ownNamespace
		e = &entry{key: key, precedence: precedence{origin: key.Origin, isTrusted: isTrusted}}
		b.entries[key] = e
	}
	return e
}

// FinishCleanup records that what runs a policy has cleaned up after it, or why nobody ever will.
func (b *Registry) FinishCleanup(id, whyAbandoned string) {
	for _, e := range b.retiringEntries(id) {
		e.isFinished, e.whyAbandoned, e.everRan = true, whyAbandoned, false
	}
}

// NoteOwners records that a policy that is cleaned up after has owners.
func (b *Registry) NoteOwners(id string) {
	for _, e := range b.retiringEntries(id) {
		e.hadOwners = true
	}
}

// MayAbandon reports whether a policy that cannot look for owners may be taken for one that has none: a
// custom resource, which nobody could delete otherwise, that was never seen to have any.
func (b *Registry) MayAbandon(id string) bool {
	for _, e := range b.retiringEntries(id) {
		return e.key.Origin.Kind == manifest.CustomResource && !e.hadOwners
	}
	return false
}

// retiringEntries returns the entries for which a program is cleaned up after.
func (b *Registry) retiringEntries(id string) (found []*entry) {
	for _, e := range b.entries {
		if e.isRetiring && ProgramID(e.resolution.Program) == id {
			found = append(found, e)
		}
	}
	return found
}

// entriesByPrecedence returns all entries, those that go before others first.
func (b *Registry) entriesByPrecedence() []*entry {
	all := make([]*entry, 0, len(b.entries))
	for _, e := range b.entries {
		all = append(all, e)
	}
	slices.SortFunc(all, func(x, y *entry) int {
		return cmp.Or(comparePrecedence(x.precedence, y.precedence), compareKeys(x.key, y.key))
	})
	return all
}
