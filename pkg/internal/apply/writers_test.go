package apply

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWriters(t *testing.T) {
	entry := func(manager, subresource string, at int64) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Time: &metav1.Time{Time: time.Unix(at, 0)}}
	}
	cases := map[string]struct {
		reason  string
		entries []metav1.ManagedFieldsEntry
		of      string // empty: status
		want    []string
	}{
		"None":       {reason: "nobody has written it", entries: []metav1.ManagedFieldsEntry{entry("kubectl", "", 9), {Manager: "timeless", Subresource: "status"}}},
		"Last":       {reason: "the last of the status first", entries: []metav1.ManagedFieldsEntry{entry("old", "status", 1), entry("new", "status", 2), entry("kubectl", "", 9)}, want: []string{"new", "old"}},
		"Other":      {reason: "of one second, not ours", entries: []metav1.ManagedFieldsEntry{entry("ours", "status", 2), entry("new", "status", 2)}, want: []string{"new", "ours"}},
		"OtherFirst": {reason: "in any order", entries: []metav1.ManagedFieldsEntry{entry("new", "status", 2), entry("ours", "status", 2)}, want: []string{"new", "ours"}},
		"Ours":       {reason: "another process has our name", entries: []metav1.ManagedFieldsEntry{entry("old", "status", 1), entry("ours", "status", 2), entry("ours", "status", 1)}, want: []string{"ours", "old"}},
		"Object":     {reason: "of the object, not of its status", entries: []metav1.ManagedFieldsEntry{entry("kubelet", "status", 9), entry("kubectl", "", 3), entry("ours", "", 2)}, of: "object", want: []string{"kubectl", "ours"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			subresource := "status"
			if tc.of == "object" {
				subresource = ""
			}
			if diff := cmp.Diff(tc.want, writersOf(tc.entries, subresource, "ours")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
