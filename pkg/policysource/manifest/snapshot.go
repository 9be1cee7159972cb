package manifest

import "slices"

// Location is where manifests are found: an argument of -f, or objects of a kind in a namespace.
type Location struct {
	Kind Kind
	// Argument is that of -f for files; namespace is "" for all, else where objects are.
	Argument, Namespace string
}

// Snapshot is what the sources hold at one moment.
type Snapshot struct {
	Manifests []Manifest
	// Complete are the locations of which Manifests has everything.
	Complete []Location
	// Missing are the locations that are not there. Nobody has said that what stood in them was
	// removed. Folders of -f only.
	Missing []Location
	// Awaited are the origins of manifests that are there, and not compiled for the first time yet.
	Awaited map[Origin]bool
	// ArgumentOf returns the argument of -f in which a file is found; nil for no files.
	ArgumentOf func(file string) string
}

// Coverage is what a snapshot knows of an origin of which it has no manifest.
type Coverage int

// The coverages of an origin.
const (
	NotSeen         Coverage = iota // the manifest may be there
	Removed                         // the location was read, and the manifest is not there
	LocationMissing                 // the location itself is not there
)

// CoverageOf returns what is known of an origin that has no manifest in the snapshot.
func (s Snapshot) CoverageOf(o Origin) Coverage {
	in := func(p Location) bool {
		switch {
		case p.Kind != o.Kind:
			return false
		case p.Kind == File:
			return s.ArgumentOf == nil || s.ArgumentOf(o.File) == p.Argument
		}
		return p.Namespace == "" || p.Namespace == o.Namespace
	}
	switch {
	case s.Awaited[o]:
		return NotSeen
	case slices.ContainsFunc(s.Complete, in):
		return Removed
	case slices.ContainsFunc(s.Missing, in):
		return LocationMissing
	}
	return NotSeen
}
