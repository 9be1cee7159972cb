package controller

import (
	"fmt"
	"testing"
)

func TestMembersLayout(t *testing.T) {
	m := ownerGroups{}
	for i := range exactStreams {
		if again := m.addOwner("a", fmt.Sprint(i)); again != nil || m.isShared("a") {
			t.Fatalf("owner %d of at most %d changed the layout", i+1, exactStreams)
		}
	}
	if again := m.addOwner("a", "more"); len(again) != exactStreams+1 || !m.isShared("a") {
		t.Errorf("one owner too many: laid out anew %v, shared %t", again, m.isShared("a"))
	}
	if again := m.addOwner("a", "more"); again != nil {
		t.Errorf("a known owner changed the layout: %v", again)
	}
	if m.isShared("b") {
		t.Errorf("another namespace is shared")
	}
	if again := m.removeOwner("a", "more"); again != nil || !m.isShared("a") {
		t.Errorf("back at the limit: laid out anew %v, shared %t; want it to stay shared", again, m.isShared("a"))
	}
	m.removeOwner("a", "0")
	if again := m.removeOwner("a", "1"); len(again) != exactStreams/2 || m.isShared("a") {
		t.Errorf("at half the limit: laid out anew %v, shared %t", again, m.isShared("a"))
	}
	m.removeOwner("a", "2")
	m.removeOwner("a", "3")
	if len(m) != 0 {
		t.Errorf("without owners there is still %v", m)
	}
}
