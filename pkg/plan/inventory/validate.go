package inventory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
)

// validateEntries returns what is wrong with the inventory. It sorts the entries.
func (inv *Inventory) validateEntries() error {
	switch {
	case inv.Policy == "":
		return errors.New("the policy is missing")
	case len(validation.IsValidLabelValue(inv.Policy)) > 0:
		return errors.New("the policy has no name that a policy can have")
	case len(inv.Entries) > MaxEntries:
		return fmt.Errorf("it has %d entries; Ambit writes at most %d", len(inv.Entries), MaxEntries)
	case len(inv.Entries) == 0 && inv.TokenSecret != "":
		return errors.New("it has a claim, but no entries")
	case len(inv.Entries) > 0 && len(inv.TokenSecret) < MinSecret:
		return fmt.Errorf("the claim has %d characters, want at least %d", len(inv.TokenSecret), MinSecret)
	}
	var last Entry
	for _, e := range inv.Entries {
		if err := e.validateEntry(last); err != nil {
			return fmt.Errorf("entry %q of child %q: %w", e.objectText(), e.Child, err)
		}
		last = e
	}
	slices.SortFunc(inv.Entries, compareEntries)
	for i := 1; i < len(inv.Entries); i++ {
		if a, b := inv.Entries[i-1], inv.Entries[i]; compareEntries(a, b) == 0 {
			return fmt.Errorf("entry %q of child %q is there twice", b.objectText(), b.Child)
		}
	}
	return nil
}

// validateEntry returns what is wrong with an entry. What it has in common with the one before,
// which is valid or empty, is not checked again.
func (e Entry) validateEntry(before Entry) error {
	switch {
	case e.Child == "":
		return errors.New("the child is missing")
	case e.Child != before.Child && !isIdentifier(e.Child), e.TokenChild != "" && !isIdentifier(e.TokenChild):
		return errors.New("the child is no identifier")
	case e.GVK.Kind == "" || e.GVK.Version == "":
		return errors.New("the kind is missing")
	case e.GVK != before.GVK && !isKind(e.GVK):
		return errors.New("this is no kind")
	case e.Namespace != before.Namespace && e.Namespace != "" && len(validation.IsDNS1123Label(e.Namespace)) > 0,
		e.Name != "" && len(content.IsPathSegmentName(e.Name)) > 0:
		return errors.New("this is no name")
	case e.Rank < 0:
		return errors.New("the rank is negative")
	case strings.ContainsAny(e.Namespace+e.Name, "/\x00"):
		return errors.New("this is no name")
	case e.IsPlace() && (e.Namespace == "" || e.UID != "" || e.Merged || e.Orphan || e.TokenChild != ""):
		return errors.New("this is no place")
	case e.Merged && e.UID == "":
		return errors.New("the uid is missing")
	}
	return nil
}

func isIdentifier(id string) bool { return len(validation.IsCIdentifier(id)) == 0 }

// isKind reports whether the API server can have such a kind, by its rules for definitions: it becomes a part of
// paths.
func isKind(gvk schema.GroupVersionKind) bool {
	return len(validation.IsDNS1035Label(strings.ToLower(gvk.Kind))) == 0 && len(validation.IsDNS1035Label(gvk.Version)) == 0 &&
		(gvk.Group == "" || len(validation.IsDNS1123Subdomain(gvk.Group)) == 0)
}
