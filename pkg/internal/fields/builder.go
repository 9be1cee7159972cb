package fields

import "maps"

// Builder collects the paths of a set. To add one costs as much as the path is long,
// however many there are; Set.Add costs as much as there is beside it, too. The zero value is
// empty. It is not safe for concurrent use.
type Builder struct {
	whole bool
	below map[string]*Builder
}

// Below returns what collects the paths that begin with an element. It is part of b.
func (b *Builder) Below(element string) *Builder {
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

// Set returns the set of all paths that were added. An element that was asked for by
// Below, and nothing below it added, is there by its presence. The caller owns it.
func (b *Builder) Set() *Set {
	if b.whole {
		return All()
	}
	s := &Set{below: make(map[string]*Set, len(b.below))}
	for element, below := range b.below {
		s.below[element] = below.Set()
	}
	if any := s.below[Any]; any != nil { // what Any covers is covered of each
		for element, below := range s.below {
			s.below[element] = below.Union(any)
		}
		maps.DeleteFunc(s.below, func(element string, sub *Set) bool { return element != Any && sub.Equal(any) })
	}
	return s
}
