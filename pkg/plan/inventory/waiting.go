package inventory

import (
	"cmp"
	"slices"
)

// MaxOtherSites is how many sites are looked at together that the program would not have
// written. The others wait until one of them is found empty. As many more are looked at of those
// that can only be waited for: they do not hold up the others.
const MaxOtherSites = 16

// ChooseWaiting decides which of some entries wait: those of sites that the program would not
// have written. Such an entry may be of an earlier revision of the policy, or made up: nothing
// tells before its site is looked at. So a few such sites are looked at together, in the order
// in which their objects are removed. A site in which an object is wanted never waits; isIdle
// reports whether an entry can only be waited for.
func (u *Update) ChooseWaiting(others []Entry, wanted map[Site]bool, isIdle func(Entry) bool) {
	others = slices.Clone(others)
	slices.SortStableFunc(others, func(a, b Entry) int { return -cmp.Compare(a.Rank, b.Rank) })
	u.waiting = map[Site]bool{}
	idle, looked := idleSites(others, isIdle), map[Site]bool{}
	var busyOnes, idleOnes int
	for _, e := range others {
		s := SiteOf(e)
		switch {
		case wanted[s] || looked[s] || u.waiting[s]:
		case idle[s] && idleOnes < MaxOtherSites:
			idleOnes++
			looked[s] = true
		case busyOnes < MaxOtherSites:
			busyOnes++
			looked[s] = true
		default:
			u.waiting[s] = true
		}
	}
}

// idleSites returns the sites of entries in which there is nothing to do but to wait.
func idleSites(entries []Entry, isIdle func(Entry) bool) map[Site]bool {
	idle := map[Site]bool{}
	for _, e := range entries {
		s := SiteOf(e)
		before, known := idle[s]
		idle[s] = (before || !known) && isIdle(e)
	}
	return idle
}
