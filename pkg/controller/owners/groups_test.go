package owners

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGroupsShare(t *testing.T) {
	m := Groups{}
	for i := range ExactStreams {
		if again := m.AddOwner("a", fmt.Sprint(i)); again != nil || m.IsShared("a") {
			t.Fatalf("owner %d of at most %d changed the layout", i+1, ExactStreams)
		}
	}
	if again := m.AddOwner("a", "more"); len(again) != ExactStreams+1 || !m.IsShared("a") {
		t.Errorf("one owner too many: laid out anew %v, shared %t", again, m.IsShared("a"))
	}
	if again := m.AddOwner("a", "more"); again != nil {
		t.Errorf("a known owner changed the layout: %v", again)
	}
	if m.IsShared("b") {
		t.Errorf("another namespace is shared")
	}
	if again := m.RemoveOwner("a", "more"); again != nil || !m.IsShared("a") {
		t.Errorf("back at the limit: laid out anew %v, shared %t; want it to stay shared", again, m.IsShared("a"))
	}
	m.RemoveOwner("a", "0")
	if again := m.RemoveOwner("a", "1"); len(again) != ExactStreams/2 || m.IsShared("a") {
		t.Errorf("at half the limit: laid out anew %v, shared %t", again, m.IsShared("a"))
	}
	m.RemoveOwner("a", "2")
	m.RemoveOwner("a", "3")
	if len(m) != 0 {
		t.Errorf("without owners there is still %v", m)
	}
}

// TestGroupsAreApart: who comes and goes in a namespace says nothing of another one, and who was never there
// leaves nothing.
func TestGroupsAreApart(t *testing.T) {
	m := Groups{}
	if again := m.RemoveOwner("a", "0"); again != nil || m.HasOwners("a") {
		t.Errorf("an owner that was never there: laid out anew %v, there are owners: %t", again, m.HasOwners("a"))
	}
	var names []string
	for i := range ExactStreams + 1 {
		names = append(names, fmt.Sprintf("owner-%d", i))
	}
	for _, name := range slices.Backward(names) {
		m.AddOwner("a", name)
	}
	m.AddOwner("b", "owner-0")
	if !m.IsShared("a") || m.IsShared("b") {
		t.Errorf("shared is %t with %d owners, and %t with one", m.IsShared("a"), len(names), m.IsShared("b"))
	}
	m.RemoveOwner("b", "owner-0")
	if m.HasOwners("b") || !m.HasOwners("a") {
		t.Errorf("there are owners: %t where the only one went, %t where none did", m.HasOwners("b"), m.HasOwners("a"))
	}
	m.RemoveOwner("a", "never there")
	for _, name := range names[:len(names)-ExactStreams/2-1] {
		if again := m.RemoveOwner("a", name); again != nil {
			t.Errorf("without %s: laid out anew %v, want them to stay shared", name, again)
		}
	}
	left := names[len(names)-ExactStreams/2:]
	if diff := cmp.Diff(left, m.RemoveOwner("a", names[len(names)-ExactStreams/2-1])); diff != "" {
		t.Errorf("at half the limit all that are left are laid out anew, in order (-want +got):\n%s", diff)
	}
}
