package inventory

import "testing"

// FuzzInventory reads arbitrary text: what is read is written as text that reads the
// same, and that is the same once more.
func FuzzInventory(f *testing.F) {
	f.Add("")
	f.Add(`{"policy":"test"}`)
	f.Add(`{"policy":"test","claim":"0123456789abcdef","groups":[{"child":"c","apiVersion":"v1","kind":"Pod","merged":true,"rank":2,"objects":["a/b/c"]},{"child":"c","apiVersion":"a.b/v1","kind":"Pod","objects":["a//","a/x/"]}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		inv, err := ParseInventory(text)
		if err != nil {
			if len(inv.Entries) > 0 || inv.TokenSecret != "" || inv.Policy != "" {
				t.Fatalf("what cannot be read gives %v", inv)
			}
			return
		}
		written := inv.String()
		again, err := ParseInventory(written)
		if err != nil || again.String() != written || len(again.Entries) != len(inv.Entries) {
			t.Fatalf("%q was written as %q, and read as %v, %v", text, written, again, err)
		}
		for i, e := range again.Entries {
			if e != inv.Entries[i] {
				t.Fatalf("entry %v was read as %v", inv.Entries[i], e)
			}
		}
	})
}
