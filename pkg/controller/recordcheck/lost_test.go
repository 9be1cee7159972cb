package recordcheck

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// TestLostWrites: an entry leads to the objects of its kind in its place, or to the one that it names.
func TestLostWrites(t *testing.T) {
	kind := func(name string) schema.GroupVersionKind { return schema.GroupVersionKind{Version: "v1", Kind: name} }
	entry := func(child, kindName, namespace, name string, isMerged bool) inventory.Entry {
		return inventory.Entry{Child: child, GVK: kind(kindName), Namespace: namespace, Name: name, Merged: isMerged}
	}
	var l LostWrites
	l.RecordAnswer(entry("c", "Secret", "n", "a", false).ObjectKey()) // of none there is nothing to forget
	for _, e := range []inventory.Entry{
		entry("", "Secret", "n", "b", false), entry("", "Secret", "n", "a", false), entry("", "Secret", "m", "a", false),
		entry("", "ConfigMap", "n", "a", false), entry("", "Namespace", "", "n", false), entry("", "Secret", "n", "answered", false),
	} {
		l.RecordLost(e.ObjectKey(), e.GVK)
	}
	l.RecordAnswer(entry("", "Secret", "n", "answered", false).ObjectKey())
	cases := map[string]struct {
		under inventory.Entry
		want  []inventory.Entry
	}{
		"Place":      {entry("c", "Secret", "n", "", false), []inventory.Entry{entry("c", "Secret", "n", "a", false), entry("c", "Secret", "n", "b", false)}},
		"OtherPlace": {entry("c", "Secret", "o", "", false), nil},
		"OtherKind":  {entry("c", "Service", "n", "", false), nil},
		"Merged":     {entry("c", "Namespace", "", "n", true), []inventory.Entry{entry("c", "Namespace", "", "n", true)}},
		"OtherName":  {entry("c", "Namespace", "", "o", true), nil},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, l.LostUnder(c.under)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
