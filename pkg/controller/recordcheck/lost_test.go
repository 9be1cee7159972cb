package recordcheck

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// TestLostWrites: an entry leads to what was to be made of its kind in its place, or to what was merged
// into, of its owner.
func TestLostWrites(t *testing.T) {
	entry := func(child, version, kind, namespace, name string, isMerged bool) inventory.Entry {
		return inventory.Entry{Child: child, GVK: schema.GroupVersionKind{Version: version, Kind: kind}, Namespace: namespace, Name: name, Merged: isMerged}
	}
	object := func(kind, namespace, name string) inventory.Entry {
		return entry("c", "v2", kind, namespace, name, false)
	}
	merged := func(kind, namespace, name string) inventory.Entry {
		return entry("c", "v2", kind, namespace, name, true)
	}
	var l LostWrites
	l.RecordAnswer("o", object("Secret", "n", "a").ObjectKey()) // of none there is nothing to forget
	for _, e := range []inventory.Entry{
		object("Secret", "n", "b"), object("Secret", "n", "a"), object("Secret", "m", "a"), object("ConfigMap", "n", "a"),
		object("Secret", "n", "answered"), merged("Namespace", "", "n"), merged("Secret", "n", "theirs"),
	} {
		l.RecordLost("o", e.ObjectKey(), e.Merged)
	}
	l.RecordLost("other", object("Secret", "n", "c").ObjectKey(), false)
	l.RecordAnswer("o", object("Secret", "n", "answered").ObjectKey())
	cases := map[string]struct {
		under inventory.Entry
		want  []inventory.Entry
	}{
		"Place":      {object("Secret", "n", ""), []inventory.Entry{object("Secret", "n", "a"), object("Secret", "n", "b")}},
		"OtherPlace": {object("Secret", "o", ""), nil},
		"OtherKind":  {object("Service", "n", ""), nil},
		"Merged":     {merged("Namespace", "", "n"), []inventory.Entry{merged("Namespace", "", "n")}},
		"OtherName":  {merged("Namespace", "", "o"), nil},
		"MadeThere":  {merged("Secret", "n", "a"), nil},
		"Named":      {object("Secret", "n", "a"), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, l.LostUnder("o", c.under)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if !l.HasLost("o") || l.HasLost("nobody") {
		t.Error("it is not known whose writes are lost")
	}
	l.ForgetOwner("o")
	if got := l.LostUnder("o", object("Secret", "n", "")); got != nil || l.HasLost("o") {
		t.Errorf("of an owner that is forgotten: %v", got)
	}
	if got := l.LostUnder("other", object("Secret", "n", "")); len(got) != 1 {
		t.Errorf("of the other one: %v", got)
	}
}
