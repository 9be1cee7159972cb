package placeuses

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/raced"
)

// crowd is the uses of owners, as layouts note them.
type crowd struct {
	*testing.T
	uses *Index
}

// owner has an owner use these places, as far as the limits let it, and returns how many it may
// use, and what it is told.
func (c *crowd) owner(namespace, name string, places ...string) (in int, told string) {
	c.Helper()
	owner := types.NamespacedName{Namespace: namespace, Name: name}
	next := ByPlace{}
	for _, place := range places {
		next.AddUse(place, Use{Part: "child"})
	}
	b := c.uses.FitOwner(owner, next)
	for place := range b.Out {
		delete(next, place)
	}
	c.uses.SetOwner(owner, next)
	return len(next), b.Message
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
	c := crowd{t, New()}
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
	raced.Skip(t)
	c := crowd{t, New()}
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
	c = crowd{t, New()}
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
	c := crowd{t, New()}
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
		if in, told := c.owner(owner.Namespace, owner.Name, slices.Sorted(maps.Keys(c.uses.owners[owner]))...); in != ownerPlaces-2 || told == "" {
			t.Errorf("who makes room has %d places, told %q", in, told)
		}
	}
	if in, told := c.owner("late", "large", placesOf(100000, ownerPlaces)...); in == ownerPlaces || told == "" {
		t.Errorf("a large owner: %d places, told %q", in, told)
	}
}

// TestPlacesAreFreed: what an owner no longer uses can be used by others.
func TestPlacesAreFreed(t *testing.T) {
	c := crowd{t, New()}
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

// makeRoom has the owners that are to make room look again, until there are none. They still
// want what they have.
func (c *crowd) makeRoom() {
	c.Helper()
	for range policyPlaces {
		if len(c.uses.crowded) == 0 {
			return
		}
		for owner := range c.uses.crowded {
			c.owner(owner.Namespace, owner.Name, slices.Sorted(maps.Keys(c.uses.owners[owner]))...)
		}
	}
	c.Fatal("owners make room for ever")
}

// small has as many owners use one place each, and twice two owners at a time use the same as
// many as one may.
func (c *crowd) small(namespace string, from, n int) {
	for i := range n {
		c.owner(namespace, fmt.Sprint(i), placesOf(from+i, 1)...)
	}
}

func (c *crowd) twice(namespace string, from, n int) {
	for i := 0; i < n; i += ownerPlaces {
		c.owner(namespace, fmt.Sprint(i), placesOf(from+i, ownerPlaces)...)
		c.owner(namespace, fmt.Sprint(i, "-again"), placesOf(from+i, ownerPlaces)...)
	}
}

// evil has the owners of three namespaces use up the policy's share.
func (c *crowd) evil(fill func(c *crowd, namespace string, from, n int)) {
	c.Helper()
	fill(c, "evil-0", 0, tenantPlaces)
	fill(c, "evil-1", tenantPlaces, tenantPlaces)
	fill(c, "evil-2", 2*tenantPlaces, policyPlaces-2*tenantPlaces)
	if n := len(c.uses.named); n != policyPlaces {
		c.Fatalf("%d places are used", n)
	}
}

// TestPlacesBetweenTenants: namespaces whose owners have used up the policy's share make room
// for those of another one, whether theirs are many and small or name each place twice.
func TestPlacesBetweenTenants(t *testing.T) {
	for name, fill := range map[string]func(c *crowd, namespace string, from, n int){"Small": (*crowd).small, "Twice": (*crowd).twice} {
		t.Run(name, func(t *testing.T) {
			c := crowd{t, New()}
			c.evil(fill)
			for i := range 10 {
				if in, told := c.owner("good", fmt.Sprint(i), placesOf(100000+i*3, 3)...); in != 3 || told != "" {
					t.Fatalf("owner %d of another namespace has %d places, told %q", i, in, told)
				}
				c.makeRoom()
				if n := len(c.uses.named); n != policyPlaces {
					t.Fatalf("then %d places are used", n)
				}
			}
		})
	}
}

// TestPlacesInParts: a namespace that comes late gets what those with more have too much, and
// takes nothing from those that have less.
func TestPlacesInParts(t *testing.T) {
	c := crowd{t, New()}
	c.evil((*crowd).twice)
	for in := 0; in != ownerPlaces; c.makeRoom() { // one namespace makes room at a time
		before := in
		if in, _ = c.owner("good", "large", placesOf(200000, ownerPlaces)...); in <= before {
			t.Fatalf("a large owner has %d places, and before %d", in, before)
		}
	}
	_, told := c.owner("good", "more", placesOf(300000, ownerPlaces)...)
	c.makeRoom()
	if n := len(c.uses.tenants["good"].places); told == "" || n > policyPlaces/3 {
		t.Errorf("with twice as many it has %d places, told %q", n, told)
	}
	if n := len(c.uses.tenants["evil-2"].places); n != policyPlaces-2*tenantPlaces {
		t.Errorf("the namespace with the least has %d places", n)
	}
	if n := len(c.uses.named); n != policyPlaces {
		t.Errorf("%d places are used", n)
	}
}

// TestPlacesOfClusterScoped: each owner without a namespace is a tenant, so that many with one
// place each leave nothing to one that comes late; those with more do.
func TestPlacesOfClusterScoped(t *testing.T) {
	c := crowd{t, New()}
	for i := range policyPlaces - 2 {
		c.owner("", fmt.Sprint(i), placesOf(i, 1)...)
	}
	c.owner("", "two", placesOf(policyPlaces-2, 2)...)
	if in, told := c.owner("", "late", "far-1"); in != 1 || told != "" {
		t.Errorf("beside one with two: %d places, told %q", in, told)
	}
	c.makeRoom()
	if in, told := c.owner("", "later", "far-2"); in != 0 || told == "" {
		t.Errorf("all have one: %d places, told %q", in, told)
	}
	if n := len(c.uses.named); n != policyPlaces {
		t.Errorf("%d places are used", n)
	}
}

// crowdOf has owners of a namespace name the same places each, until one is refused or there are
// so many.
func (c *crowd) crowdOf(namespace string, owners int, places []string) (refused string) {
	for i := range owners {
		if _, told := c.owner(namespace, fmt.Sprint(i), places...); told != "" {
			return told
		}
	}
	return ""
}

// TestNamings: owners that name the same places, each of them, are bounded in their namespace,
// and leave their part to owners of others.
func TestNamings(t *testing.T) {
	c := crowd{t, New()}
	same := placesOf(0, ownerPlaces)
	for i := range 3 {
		if told := c.crowdOf(fmt.Sprintf("evil-%d", i), 100, same); !strings.Contains(told, "too often") {
			t.Errorf("owners that name the same places are told %q", told)
		}
		c.makeRoom()
	}
	for name, share := range c.uses.tenants {
		if share.namings > tenantNamings {
			t.Errorf("owners in %s have %d namings", name, share.namings)
		}
	}
	if c.uses.namings != policyNamings {
		t.Errorf("all have %d namings", c.uses.namings)
	}
	for i := range 10 {
		if in, told := c.owner("good", fmt.Sprint(i), placesOf(i, 3)...); in != 3 || told != "" {
			t.Errorf("owner %d of another namespace has %d places, told %q", i, in, told)
		}
		c.makeRoom()
	}
	if c.uses.namings > policyNamings {
		t.Errorf("then all have %d namings", c.uses.namings)
	}
	if in, told := c.owner("evil-0", "small", "place-1"); in != 1 || told != "" {
		t.Errorf("a small owner beside large ones has %d places, told %q", in, told)
	}
}

// TestNamingsOfSmallOwners: many owners with one naming each make room for one with more, as
// many of them as it takes.
func TestNamingsOfSmallOwners(t *testing.T) {
	raced.Skip(t)
	c := crowd{t, New()}
	c.crowdOf("evil-0", tenantNamings, placesOf(0, 1))
	c.crowdOf("evil-1", tenantNamings, placesOf(0, 1))
	c.crowdOf("evil-2", policyNamings-2*tenantNamings, placesOf(0, 1))
	if in, told := c.owner("good", "large", placesOf(0, 100)...); in != 100 || told != "" {
		t.Errorf("it has %d places, told %q", in, told)
	}
	c.makeRoom()
	if c.uses.namings != policyNamings {
		t.Errorf("then all have %d namings", c.uses.namings)
	}
}

// TestNamingsOfLeftovers: each kind that is left in a place counts.
func TestNamingsOfLeftovers(t *testing.T) {
	c := crowd{t, New()}
	next := ByPlace{}
	for _, place := range placesOf(0, 100) {
		for i := range 20 {
			next.AddUse(place, Use{Kind: schema.GroupVersionKind{Group: "g", Version: "v1", Kind: fmt.Sprint(i)}})
		}
	}
	refused := 0
	for i := range 8 {
		owner := types.NamespacedName{Namespace: "evil", Name: fmt.Sprint(i)}
		own := maps.Clone(next)
		b := c.uses.FitOwner(owner, own)
		maps.DeleteFunc(own, func(place string, _ []Use) bool { return b.Out[place] })
		c.uses.SetOwner(owner, own)
		refused += len(b.Out)
	}
	if n := shareOf(c.uses, types.NamespacedName{Namespace: "evil"}).namings; n != tenantNamings || refused != 300 {
		t.Errorf("%d namings, %d places are refused", n, refused)
	}
}

// TestPayers: the owner with the fewest places pays, whoever comes and goes, and whoever pays
// does until another one has fewer.
func TestPayers(t *testing.T) {
	u := New()
	random := rand.New(rand.NewPCG(1, 2))
	for step := range 2000 {
		owner, next := types.NamespacedName{Namespace: "n", Name: fmt.Sprint(random.IntN(8))}, ByPlace{}
		for range random.IntN(6) {
			next.AddUse(fmt.Sprint("place-", random.IntN(6)), Use{Part: "child"})
		}
		u.SetOwner(owner, next)
		for place := range u.places {
			fewest, users := 1000, 0
			for _, at := range u.owners {
				if at[place] != nil {
					fewest, users = min(fewest, len(at)), users+1
				}
			}
			if at := u.owners[u.payers[place]]; at[place] == nil || len(at) != fewest || len(u.users[place]) != users {
				t.Fatalf("step %d: %s pays for %s", step, u.payers[place], place)
			}
		}
		if len(u.payers) != len(u.places) || len(u.users) != len(u.places) {
			t.Fatalf("step %d: %d places, %d are paid for", step, len(u.places), len(u.payers))
		}
	}
}

// BenchmarkPlacesAtTheLimit: what one owner costs where others have used up the shares.
func BenchmarkPlacesAtTheLimit(b *testing.B) {
	c := crowd{nil, New()}
	same := ByPlace{}
	for _, place := range placesOf(0, ownerPlaces) {
		same.AddUse(place, Use{Part: "child"})
	}
	owner := func(i int) types.NamespacedName {
		return types.NamespacedName{Namespace: fmt.Sprint("evil-", i%3), Name: fmt.Sprint(i)}
	}
	for i := range 24 { // 8,000 namings in each of three namespaces
		c.uses.SetOwner(owner(i), maps.Clone(same))
	}
	b.Run("Bound", func(b *testing.B) {
		for b.Loop() {
			c.uses.FitOwner(types.NamespacedName{Namespace: "evil-0", Name: "late"}, same)
		}
	})
	b.Run("Set", func(b *testing.B) {
		for b.Loop() {
			c.uses.SetOwner(owner(0), nil)
			c.uses.SetOwner(owner(0), maps.Clone(same))
		}
	})
}
