package owners

import (
	"fmt"
	"testing"
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
