package uninstall

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func TestOwnerRecords(t *testing.T) {
	records := ownerRecords{}
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	nothing := func(schema.GroupKind) bool { return false }
	records.addRecord(app, object(annotated(v1alpha1.AnnotationChildren, recordText)), nothing)
	records.addRecord(app, object(annotated(v1alpha1.AnnotationChildren, "{")), nothing)
	var kinds []string
	named, more := records.unlistedKinds(nothing)
	for _, kind := range named {
		kinds = append(kinds, kind.Kind)
	}
	if more != 0 {
		t.Errorf("%d kinds are left out, want none", more)
	}
	if diff := cmp.Diff([]string{"ConfigMap", "Secret", "ServiceAccount"}, kinds); diff != "" {
		t.Errorf("What is on record is looked at: -want +got\n%s", diff)
	}

	found := []Finding{
		{Type: TypeChild, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team-b", Name: "away", Why: "untied"},
		{Type: TypeChild, APIVersion: "v1", Kind: "Secret", Namespace: "team-a", Name: "kept", Why: "untied"},
		{Type: TypeChild, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team-b", Name: "other", Why: "untied"},
		{Type: TypeFields, APIVersion: "v1", Kind: "ConfigMap", Namespace: "team-b", Name: "away", Why: "merged"},
	}
	records.explainChildren(found)
	want := []string{
		"untied; App team-a/shop has it on record",
		"App team-a/shop has it on record, to be left behind: onDelete is Orphan",
		"untied; no owner that was seen has it on record",
		"merged",
	}
	for i, n := range found {
		if n.Why != want[i] {
			t.Errorf("%s %s: %q, want %q", n.Kind, n.Name, n.Why, want[i])
		}
	}
}

// TestRecordedKinds: what records name and no policy has is looked at up to a limit;
// a record beyond it is none of Ambit's.
func TestRecordedKinds(t *testing.T) {
	record := func(from, to int) func(*metav1.PartialObjectMetadata) {
		var groups []string
		for i := from; i < to; i++ {
			groups = append(groups, fmt.Sprintf(`{"child":"a","apiVersion":"g%03d.x/v1","kind":"K","objects":["n/a/"]}`, i))
		}
		return annotated(v1alpha1.AnnotationChildren, `{"policy":"web","claim":"0123456789abcdef","groups":[`+strings.Join(groups, ",")+`]}`)
	}
	app := schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	search := func(records ...func(*metav1.PartialObjectMetadata)) (*leftoverSearch, int) {
		s := &leftoverSearch{listed: map[schema.GroupKind]bool{{Group: "g000.x", Kind: "K"}: true}, uids: map[types.UID]bool{}, records: ownerRecords{}}
		for i, record := range records {
			owner := object(finalized, record)
			owner.UID = types.UID(fmt.Sprint(i))
			s.takeObject(app, owner)
		}
		if _, err := s.recordedKinds(); err != nil {
			t.Fatal(err)
		}
		kinds, _ := s.records.unlistedKinds(s.isListed)
		return s, len(kinds)
	}
	for name, tc := range map[string]struct {
		reason  string
		records []func(*metav1.PartialObjectMetadata)
		kinds   int
		says    string
	}{
		"AsMany":    {"As many as Ambit writes, beside one that the policy has.", []func(*metav1.PartialObjectMetadata){record(0, 65)}, 64, ""},
		"TooMany":   {"One record with more is not believed.", []func(*metav1.PartialObjectMetadata){record(0, 66)}, 0, "the record of App team-a/shop is left out: it names 65 kinds that no policy has; Ambit writes at most 64"},
		"Thousands": {"However many.", []func(*metav1.PartialObjectMetadata){record(0, 900)}, 0, "the record of App team-a/shop is left out: it names 899 kinds that no policy has; Ambit writes at most 64"},
		"Together":  {"All together neither.", []func(*metav1.PartialObjectMetadata){record(0, 60), record(60, 120)}, 64, "55 more kinds that only records of owners name are left out: 64 are looked at"},
	} {
		t.Run(name, func(t *testing.T) {
			s, kinds := search(tc.records...)
			var says []string
			for _, u := range s.found.Unseen {
				says = append(says, u.Why)
			}
			if got := strings.Join(says, "; "); kinds != tc.kinds || got != tc.says {
				t.Errorf("%s %d kinds, want %d; it says %q, want %q", tc.reason, kinds, tc.kinds, got, tc.says)
			}
		})
	}
}
