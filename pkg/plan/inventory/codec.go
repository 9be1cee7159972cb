package inventory

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// document is the text form of an inventory. Objects that have the rest in common
// are together, because annotations have at most 256 KiB.
type document struct {
	Policy string        `json:"policy"`
	Secret string        `json:"claim,omitempty"`
	Groups []objectGroup `json:"groups,omitempty"`
}

// objectGroup is objects of one child and kind; each as `namespace/name/uid`.
type objectGroup struct {
	Child      string   `json:"child"`
	TokenChild string   `json:"claimedAs,omitempty"`
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Merged     bool     `json:"merged,omitempty"`
	Orphan     bool     `json:"orphan,omitempty"`
	Rank       int      `json:"rank,omitempty"`
	Objects    []string `json:"objects"`
}

// ParseInventory reads an inventory; that of "" is empty. What String cannot have written is an error:
// nothing may be concluded from it.
func ParseInventory(text string) (Inventory, error) {
	if text == "" {
		return Inventory{}, nil
	}
	var inv Inventory
	err := checkLength(text)
	if err == nil {
		inv, err = decodeText(text)
	}
	if err == nil {
		err = inv.validateEntries()
	}
	if err != nil {
		return Inventory{}, fmt.Errorf("reading the record of children: %w", err)
	}
	return inv, nil
}

// checkLength refuses what is too long to be read at all.
func checkLength(text string) error {
	if len(text) > MaxBytes {
		return fmt.Errorf("it has %d bytes; Ambit writes at most %d", len(text), MaxBytes)
	}
	return nil
}

func decodeText(text string) (Inventory, error) {
	decoder := json.NewDecoder(bytes.NewReader([]byte(text)))
	decoder.DisallowUnknownFields()
	var d document
	if err := decoder.Decode(&d); err != nil {
		return Inventory{}, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Inventory{}, errors.New("there is text behind it")
	}
	inv := Inventory{Policy: d.Policy, TokenSecret: d.Secret}
	for _, g := range d.Groups {
		if err := inv.addGroup(g); err != nil {
			return Inventory{}, err
		}
	}
	return inv, nil
}

func (inv *Inventory) addGroup(g objectGroup) error {
	version, err := schema.ParseGroupVersion(g.APIVersion)
	if err != nil {
		return fmt.Errorf("child %q: %w", g.Child, err)
	}
	for _, object := range g.Objects {
		parts := strings.SplitN(object, "/", 3)
		if len(parts) != 3 {
			return fmt.Errorf("entry %q of child %q is not as namespace/name/uid", object, g.Child)
		}
		inv.Entries = append(inv.Entries, Entry{
			Child: g.Child, TokenChild: g.TokenChild, GVK: version.WithKind(g.Kind), Namespace: parts[0], Name: parts[1], UID: types.UID(parts[2]),
			Merged: g.Merged, Orphan: g.Orphan, Rank: g.Rank,
		})
	}
	return nil
}

// String returns the inventory as text: compact, and the same for the same
// entries; "" for one of no policy.
func (inv Inventory) String() string {
	if inv.Policy == "" {
		return ""
	}
	entries := slices.Clone(inv.Entries)
	slices.SortFunc(entries, func(a, b Entry) int {
		return cmp.Or(compareGroups(a.objectGroup(), b.objectGroup()), compareEntries(a, b))
	})
	d := document{Policy: inv.Policy}
	if len(entries) > 0 {
		d.Secret = inv.TokenSecret
	}
	for _, e := range entries {
		if n := len(d.Groups); n == 0 || compareGroups(d.Groups[n-1], e.objectGroup()) != 0 {
			d.Groups = append(d.Groups, e.objectGroup())
		}
		last := &d.Groups[len(d.Groups)-1]
		last.Objects = append(last.Objects, e.objectText())
	}
	encoded, _ := json.Marshal(d) // strings, numbers and bools only
	return string(encoded)
}

func (e Entry) objectText() string { return e.Namespace + "/" + e.Name + "/" + string(e.UID) }

func (e Entry) objectGroup() objectGroup {
	apiVersion, kind := e.GVK.ToAPIVersionAndKind()
	return objectGroup{Child: e.Child, TokenChild: e.TokenChild, APIVersion: apiVersion, Kind: kind, Merged: e.Merged, Orphan: e.Orphan, Rank: e.Rank}
}

func compareGroups(a, b objectGroup) int {
	number := func(flag bool) int {
		if flag {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Child, b.Child), cmp.Compare(a.TokenChild, b.TokenChild), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.APIVersion, b.APIVersion),
		cmp.Compare(number(a.Merged), number(b.Merged)), cmp.Compare(number(a.Orphan), number(b.Orphan)))
}
