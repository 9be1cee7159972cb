package controller

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// crowd is the uses of owners, as layouts note them.
type crowd struct {
	*testing.T
	uses uses
}

// owner has an owner use these places, as far as the limits let it, and returns how many it may
// use, and what it is told.
func (c *crowd) owner(namespace, name string, places ...string) (in int, told string) {
	c.Helper()
	owner := types.NamespacedName{Namespace: namespace, Name: name}
	next := usesAt{}
	for _, place := range places {
		next.add(place, use{part: "child"})
	}
	b := c.uses.bound(owner, next)
	for place := range b.out {
		delete(next, place)
	}
	c.uses.set(owner, next)
	if b.problem != nil {
		told = b.problem.Message
	}
	return len(next), told
}

// placesOf are names of places, from a number on.
func placesOf(from, n int) (list []string) {
	for i := range n {
		list = append(list, fmt.Sprintf("place-%d", from+i))
	}
	return list
}

// TestPlacesOfAnOwner: one owner may use so many namespaces, and keeps those that it has.
func TestPlacesOfAnOwner(t *testing.T) {
	c := crowd{t, newUses()}
	if in, told := c.owner("team", "a", placesOf(0, ownerPlaces)...); in != ownerPlaces || told != "" {
		t.Fatalf("%d places, told %q", in, told)
	}
	if in, told := c.owner("team", "a", placesOf(0, ownerPlaces+1)...); in != ownerPlaces || told == "" {
		t.Errorf("with one more: %d places, told %q", in, told)
	}
	if in, told := c.owner("team", "b", "place-0", "place-5000"); in != 2 || told != "" {
		t.Errorf("another owner: %d places, told %q", in, told)
	}
}

// TestPlacesOfATenant: owners of one namespace, however many and small, leave places to those
// of others, and to a smaller owner of their own.
func TestPlacesOfATenant(t *testing.T) {
	c := crowd{t, newUses()}
	refused := 0
	for i := range policyPlaces + 100 {
		if _, told := c.owner("evil", fmt.Sprint(i), placesOf(i, 1)...); told != "" {
			refused++
		}
	}
	if n := len(c.uses.named); n != tenantPlaces || refused != policyPlaces+100-tenantPlaces {
		t.Errorf("they use %d places, %d were refused", n, refused)
	}
	if in, told := c.owner("good", "victim", "place-0", "far-1", "far-2"); in != 3 || told != "" {
		t.Errorf("an owner of another namespace: %d places, told %q", in, told)
	}
	c = crowd{t, newUses()}
	c.owner("team", "one", placesOf(0, ownerPlaces)...)
	c.owner("team", "two", placesOf(ownerPlaces, ownerPlaces)...)
	in, told := c.owner("team", "small", "far-1")
	if in != 1 || told != "" {
		t.Errorf("a small owner of the same namespace: %d places, told %q", in, told)
	}
	if in, told := c.owner("team", "one", placesOf(0, ownerPlaces)...); in != ownerPlaces-1 || told == "" {
		t.Errorf("a large one makes room: %d places, told %q", in, told)
	}
}

// TestPlacesOfAPolicy: where all tenants want too much, the owner with the most gives way.
func TestPlacesOfAPolicy(t *testing.T) {
	c := crowd{t, newUses()}
	for i := range policyPlaces / ownerPlaces {
		c.owner(fmt.Sprintf("team-%d", i/2), fmt.Sprint(i), placesOf(i*ownerPlaces, ownerPlaces)...)
	}
	if n := len(c.uses.named); n != policyPlaces {
		t.Fatalf("%d places", n)
	}
	if in, told := c.owner("late", "small", "far-1", "far-2"); in != 2 || told != "" {
		t.Errorf("a small owner: %d places, told %q", in, told)
	}
	if len(c.uses.crowded) != 1 {
		t.Errorf("%d owners have to make room", len(c.uses.crowded))
	}
	for owner := range c.uses.crowded {
		if in, told := c.owner(owner.Namespace, owner.Name, sortedKeys(c.uses.owners[owner])...); in != ownerPlaces-2 || told == "" {
			t.Errorf("who makes room has %d places, told %q", in, told)
		}
	}
	if in, told := c.owner("late", "large", placesOf(100000, ownerPlaces)...); in == ownerPlaces || told == "" {
		t.Errorf("a large owner: %d places, told %q", in, told)
	}
}

// TestPlacesAreFreed: what an owner no longer uses can be used by others.
func TestPlacesAreFreed(t *testing.T) {
	c := crowd{t, newUses()}
	for i := range tenantPlaces {
		c.owner("team", fmt.Sprint(i), placesOf(i, 1)...)
	}
	if in, told := c.owner("team", "late", "far"); in != 0 || told == "" {
		t.Errorf("at the limit: %d places, told %q", in, told)
	}
	c.owner("team", "0")
	if in, told := c.owner("team", "late", "far"); in != 1 || told != "" {
		t.Errorf("with room: %d places, told %q", in, told)
	}
	for i := range tenantPlaces {
		c.owner("team", fmt.Sprint(i))
	}
	c.owner("team", "late")
	if len(c.uses.named)+len(c.uses.tenants)+len(c.uses.users)+len(c.uses.payers)+len(c.uses.crowded) != 0 {
		t.Errorf("something is left: %+v", c.uses)
	}
}
