package controller

import (
	"fmt"
	"testing"
)

func TestMembersLayout(t *testing.T) {
	m := members{}
	for i := range exactStreams {
		if again := m.add("a", fmt.Sprint(i)); again != nil || m.shared("a") {
			t.Fatalf("owner %d of at most %d changed the layout", i+1, exactStreams)
		}
	}
	if again := m.add("a", "more"); len(again) != exactStreams+1 || !m.shared("a") {
		t.Errorf("one owner too many: laid out anew %v, shared %t", again, m.shared("a"))
	}
	if again := m.add("a", "more"); again != nil {
		t.Errorf("a known owner changed the layout: %v", again)
	}
	if m.shared("b") {
		t.Errorf("another namespace is shared")
	}
	if again := m.remove("a", "more"); again != nil || !m.shared("a") {
		t.Errorf("back at the limit: laid out anew %v, shared %t; want it to stay shared", again, m.shared("a"))
	}
	m.remove("a", "0")
	if again := m.remove("a", "1"); len(again) != exactStreams/2 || m.shared("a") {
		t.Errorf("at half the limit: laid out anew %v, shared %t", again, m.shared("a"))
	}
	m.remove("a", "2")
	m.remove("a", "3")
	if len(m) != 0 {
		t.Errorf("without owners there is still %v", m)
	}
}
