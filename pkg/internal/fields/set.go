package fields

import (
	"maps"
	"slices"
	"strings"
)

// Any as a path element covers every list element and every map value.
const Any = "*"

// Set is a trie of field paths. A path that ends covers the whole subtree below
// it. The nil Set is the empty one for all methods that read. A Set must not be
// changed while others use it; reading is safe for concurrent use.
type Set struct {
	whole bool // covers everything; below is then empty
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

// All covers whole objects.
func All() *Set { return &Set{whole: true} }

// Add adds one path, element by element, and returns s. No elements: everything.
func (s *Set) Add(path ...string) *Set {
	at := s
	for _, element := range path {
		if at.whole {
			return s
		}
		if at.below == nil {
			at.below = map[string]*Set{}
		}
		next, ok := at.below[element]
		if !ok {
			next = &Set{}
			at.below[element] = next
		}
		at = next
	}
	at.whole, at.below = true, nil
	return s
}

// Union returns a new set that covers what either covers. Either may be nil.
func (s *Set) Union(o *Set) *Set {
	switch {
	case s.IsAll() || o.IsAll():
		return All()
	case s == nil && o == nil:
		return &Set{}
	}
	u := &Set{below: map[string]*Set{}}
	for _, from := range []*Set{s, o} {
		if from == nil {
			continue
		}
		for element, sub := range from.below {
			u.below[element] = u.below[element].Union(sub)
		}
	}
	return u
}

// Has says whether everything at and below a path is covered.
func (s *Set) Has(path ...string) bool {
	if s == nil {
		return false
	}
	if s.whole {
		return true
	}
	if len(path) == 0 {
		return false
	}
	return s.below[path[0]].Has(path[1:]...) || s.below[Any].Has(path[1:]...)
}

// Sub returns what is covered below one path element: nil if nothing is. It is
// part of s unless both the element and Any are in s.
func (s *Set) Sub(element string) *Set {
	switch {
	case s == nil:
		return nil
	case s.whole:
		return s
	}
	named, any := s.below[element], s.below[Any]
	switch {
	case named == nil || element == Any:
		return any
	case any == nil:
		return named
	}
	return named.Union(any)
}

// IsAll says whether whole objects are covered.
func (s *Set) IsAll() bool { return s != nil && s.whole }

// Empty says whether nothing is covered.
func (s *Set) Empty() bool { return s == nil || (!s.whole && len(s.below) == 0) }

// MetadataOnly says whether nothing is covered outside of metadata, apiVersion
// and kind, so that a metadata-only stream has it all.
func (s *Set) MetadataOnly() bool {
	if s.IsAll() {
		return false
	}
	if s == nil {
		return true
	}
	for element := range s.below {
		if element != "metadata" && element != "apiVersion" && element != "kind" {
			return false
		}
	}
	return true
}

// String is the canonical text of the set: equal exactly for equal sets.
func (s *Set) String() string {
	var b strings.Builder
	s.write(&b)
	return b.String()
}

func (s *Set) write(b *strings.Builder) {
	switch {
	case s == nil:
		return
	case s.whole:
		b.WriteByte('!')
		return
	}
	b.WriteByte('{')
	for i, element := range slices.Sorted(maps.Keys(s.below)) {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(escape.Replace(element))
		s.below[element].write(b)
	}
	b.WriteByte('}')
}

// escape keeps elements apart from the marks of the text form.
var escape = strings.NewReplacer(`\`, `\\`, `{`, `\{`, `}`, `\}`, `,`, `\,`, `!`, `\!`)
