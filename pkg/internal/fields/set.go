// Package fields holds sets of field paths: which fields of an object somebody
// reads, and the projection of an object to them.
//
// It knows nothing of schemas: a path is a list of map keys, with Any standing
// for every element of a list and every value of a map.
package fields

import (
	"maps"
	"slices"
	"strings"
)

// Any as a path element covers every list element and every map value.
const Any = "*"

// Set is a trie of field paths. A path that ends covers the whole subtree below
// it, unless it was added by AddPresence. The nil Set is the empty one for all
// methods that read. A Set must not be changed while others use it; reading is
// safe for concurrent use.
type Set struct {
	whole bool // covers everything; below is then nil

	// below is what is covered of each element. A Set there without anything below
	// covers the element's presence. Each covers at least what Any does, and more:
	// so sets that cover the same are the same.
	below map[string]*Set
}

// New returns the set of the given paths, whose elements are separated by dots.
// Use Add for an element that holds a dot.
func New(paths ...string) *Set {
	s := &Set{}
	for _, path := range paths {
		s.Add(strings.Split(path, ".")...)
	}
	return s
}

// AllFields covers whole objects.
func AllFields() *Set { return &Set{whole: true} }

// Add adds one path, element by element, and returns s. No elements: everything.
func (s *Set) Add(path ...string) *Set { return s.addPath(path, true) }

// AddPresence adds one path without what is below its end: whether there is
// something, and what kind of thing. A scalar there is kept, a map loses its
// keys, the elements of a list become empty maps. Returns s.
func (s *Set) AddPresence(path ...string) *Set { return s.addPath(path, false) }

func (s *Set) addPath(path []string, whole bool) *Set {
	one := &Set{whole: whole}
	for _, element := range slices.Backward(path) {
		one = &Set{below: map[string]*Set{element: one}}
	}
	*s = *s.Union(one)
	return s
}

// Union returns a new set that covers what either covers. Either may be nil. It shares with
// them what is below elements of one of them alone, which nothing changes: Add replaces.
func (s *Set) Union(o *Set) *Set {
	if s.IsAll() || o.IsAll() {
		return AllFields()
	}
	u := &Set{below: map[string]*Set{}}
	for _, from := range []*Set{s, o} {
		for element := range from.eachElement() {
			if u.below[element] == nil {
				u.below[element] = unionOrOther(s.SetBelow(element), o.SetBelow(element))
			}
		}
	}
	if any := u.below[Any]; any != nil {
		maps.DeleteFunc(u.below, func(element string, sub *Set) bool { return element != Any && sub.Equal(any) })
	}
	return u
}

// unionOrOther is the union of two sets of which one may be nil: then it is the other one itself.
func unionOrOther(a, b *Set) *Set {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return a.Union(b)
}

// eachElement are what the set names at its top.
func (s *Set) eachElement() map[string]*Set {
	if s == nil {
		return nil
	}
	return s.below
}

// Equal says whether both cover the same. Either may be nil.
func (s *Set) Equal(o *Set) bool {
	return s.IsAll() == o.IsAll() && maps.EqualFunc(s.eachElement(), o.eachElement(), (*Set).Equal)
}

// CoversPath says whether everything at and below a path is covered.
func (s *Set) CoversPath(path ...string) bool {
	for _, element := range path {
		s = s.SetBelow(element)
	}
	return s.IsAll()
}

// SetBelow returns what is covered below one path element: nil if it is not covered
// at all, an empty set if its presence is. It is part of s.
func (s *Set) SetBelow(element string) *Set { return subOf(s, element) }

// SubOf is SetBelow for an element that need not be a string for that.
func (s *Set) SubOf(element []byte) *Set { return subOf(s, element) }

func subOf[T string | []byte](s *Set, element T) *Set {
	switch {
	case s == nil:
		return nil
	case s.whole:
		return s
	}
	if named := s.below[string(element)]; named != nil {
		return named
	}
	return s.below[Any]
}

// TouchesPath reports whether anything at or below a path is covered, if only because of Any or of
// what is above it.
func (s *Set) TouchesPath(path ...string) bool {
	for _, element := range path {
		s = s.SetBelow(element)
	}
	return s != nil
}

// NamesPath reports whether the set has a path as such, element by element: not because of Any, and
// not because all of what is above it is covered.
func (s *Set) NamesPath(path ...string) bool {
	for _, element := range path {
		if s == nil || s.whole {
			return false
		}
		s = s.below[element]
	}
	return s != nil
}

// IsAll says whether whole objects are covered.
func (s *Set) IsAll() bool { return s != nil && s.whole }

// IsEmpty says whether nothing is covered.
func (s *Set) IsEmpty() bool { return s == nil || (!s.whole && len(s.below) == 0) }

// MetadataOnly says whether nothing is covered outside of metadata, apiVersion
// and kind, so that a metadata-only stream has it all.
func (s *Set) MetadataOnly() bool {
	if s.IsAll() {
		return false
	}
	for element := range s.eachElement() {
		if element != "metadata" && element != "apiVersion" && element != "kind" {
			return false
		}
	}
	return true
}

// String is the canonical text of the set: equal exactly for sets that cover the
// same. The empty set is "{}", everything is "!".
func (s *Set) String() string {
	var b strings.Builder
	s.writeTo(&b)
	return b.String()
}

func (s *Set) writeTo(b *strings.Builder) {
	if s.IsAll() {
		b.WriteByte('!')
		return
	}
	b.WriteByte('{')
	for i, element := range slices.Sorted(maps.Keys(s.eachElement())) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(escape.Replace(element))
		s.below[element].writeTo(b)
	}
	b.WriteByte('}')
}

// escape keeps elements apart from the marks of the text form.
var escape = strings.NewReplacer(`\`, `\\`, `{`, `\{`, `}`, `\}`, `,`, `\,`, `!`, `\!`)

// Builder collects the paths of a set. To add one costs as much as the path is long,
// however many there are; Set.Add costs as much as there is beside it, too. The zero value is
// empty. It is not safe for concurrent use.
type Builder struct {
	whole bool
	below map[string]*Builder
}

// CollectBelow returns what collects the paths that begin with an element. It is part of b.
func (b *Builder) CollectBelow(element string) *Builder {
	below := b.below[element]
	if below == nil {
		below = &Builder{}
		if b.below == nil {
			b.below = map[string]*Builder{}
		}
		b.below[element] = below
	}
	return below
}

// AddWhole adds everything, which ends the path that led here.
func (b *Builder) AddWhole() { b.whole = true }

// BuildSet returns the set of all paths that were added. An element that was asked for by
// CollectBelow, and nothing below it added, is there by its presence. The caller owns it.
func (b *Builder) BuildSet() *Set {
	if b.whole {
		return AllFields()
	}
	s := &Set{below: make(map[string]*Set, len(b.below))}
	for element, below := range b.below {
		s.below[element] = below.BuildSet()
	}
	if any := s.below[Any]; any != nil { // what Any covers is covered of each
		for element, below := range s.below {
			s.below[element] = below.Union(any)
		}
		maps.DeleteFunc(s.below, func(element string, sub *Set) bool { return element != Any && sub.Equal(any) })
	}
	return s
}
