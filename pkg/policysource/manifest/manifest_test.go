package manifest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestFromObjects: what of an object is a manifest.
func TestFromObjects(t *testing.T) {
	metadata := func(more ...string) map[string]any {
		m := map[string]any{"namespace": "team", "name": "o", "uid": "u", "generation": int64(3)}
		for _, field := range more {
			switch field {
			case "deletionTimestamp":
				m[field] = "2026-01-01T00:00:00Z"
			case "finalizers":
				m[field] = []any{"ambit.dev/cleanup"}
			}
		}
		return m
	}
	for name, c := range map[string]struct {
		reason string
		from   func(*unstructured.Unstructured) []Manifest
		object map[string]any
		want   []string
	}{
		"Resource":  {reason: "nothing is special", from: FromCustomResource, object: map[string]any{"metadata": metadata()}, want: []string{"reconcilepolicy team/o 3"}},
		"Deleting":  {reason: "it is cleaned up after", from: FromCustomResource, object: map[string]any{"metadata": metadata("deletionTimestamp", "finalizers")}, want: []string{"reconcilepolicy team/o 3 deleting finalizer"}},
		"Owners":    {reason: "it had owners before this process began", from: FromCustomResource, object: map[string]any{"metadata": metadata(), "status": map[string]any{"owners": int64(2)}}, want: []string{"reconcilepolicy team/o 3 owners"}},
		"ConfigMap": {reason: "keys that are names of YAML files, sorted", from: FromConfigMap, object: map[string]any{"metadata": metadata(), "data": map[string]any{"b.yml": "b", "a.yaml": "a", "c.txt": "c"}}, want: []string{"configmap team/o a.yaml 0", "configmap team/o b.yml 0"}},
		"Gone":      {reason: "its policies are gone with it", from: FromConfigMap, object: map[string]any{"metadata": metadata("deletionTimestamp"), "data": map[string]any{"a.yaml": "a"}}},
		"NoStrings": {reason: "no API server has it", from: FromConfigMap, object: map[string]any{"metadata": metadata(), "data": map[string]any{"a.yaml": int64(1)}}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, m := range c.from(&unstructured.Unstructured{Object: c.object}) {
				line := fmt.Sprintf("%s %d", m.Origin, m.Generation)
				for _, word := range []struct {
					name string
					on   bool
				}{{" deleting", m.Deleting}, {" finalizer", m.HasFinalizer}, {" owners", m.HasOwners}} {
					if word.on {
						line += word.name
					}
				}
				if !m.Steady || m.UID != "u" || m.Digest == "" {
					t.Errorf("%s: it lacks something: %+v", line, m)
				}
				got = append(got, line)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestDigest: a digest is another one when the text is, and the same when only the status is.
func TestDigest(t *testing.T) {
	object := func(spec, status string) map[string]any { return map[string]any{"spec": spec, "status": status} }
	base := Manifest{Object: object("a", "x")}.WithDigest().Digest
	for name, c := range map[string]struct {
		reason   string
		manifest Manifest
		same     bool
	}{
		"Status":     {reason: "Ambit writes it itself", manifest: Manifest{Object: object("a", "y")}, same: true},
		"Spec":       {reason: "it is the policy", manifest: Manifest{Object: object("b", "x")}},
		"Unreadable": {reason: "that is news", manifest: Manifest{Object: object("a", "x"), Unreadable: errors.New("no")}},
		"Data":       {reason: "it is the policy", manifest: Manifest{Data: []byte("a")}},
	} {
		if got := c.manifest.WithDigest().Digest; (got == base) != c.same {
			t.Errorf("%s: %s: the digest is the same: %t", name, c.reason, got == base)
		}
	}
}

// TestCoverageOf: what is missing was removed only where everything was read.
func TestCoverageOf(t *testing.T) {
	file, object := Origin{Kind: File, File: "dir/a.yaml"}, Origin{Kind: ConfigMap, Namespace: "team", Name: "o", Key: "a.yaml"}
	argumentOf := func(string) string { return "dir" }
	for name, c := range map[string]struct {
		reason   string
		snapshot Snapshot
		origin   Origin
		want     Coverage
	}{
		"Nothing":   {reason: "nothing was read", origin: object, want: NotSeen},
		"All":       {reason: "all namespaces were read", snapshot: Snapshot{Complete: []Location{{Kind: ConfigMap}}}, origin: object, want: Removed},
		"Namespace": {reason: "its namespace was read", snapshot: Snapshot{Complete: []Location{{Kind: ConfigMap, Namespace: "team"}}}, origin: object, want: Removed},
		"Elsewhere": {reason: "another one was read", snapshot: Snapshot{Complete: []Location{{Kind: ConfigMap, Namespace: "other"}, {Kind: CustomResource}}}, origin: object, want: NotSeen},
		"Awaited":   {reason: "it is there, and not compiled", snapshot: Snapshot{Complete: []Location{{Kind: ConfigMap}}, Awaited: map[Origin]bool{object: true}}, origin: object, want: NotSeen},
		"Folder":    {reason: "its folder was read", snapshot: Snapshot{ArgumentOf: argumentOf, Complete: []Location{{Kind: File, Argument: "dir"}}}, origin: file, want: Removed},
		"Other":     {reason: "another folder was read", snapshot: Snapshot{ArgumentOf: argumentOf, Complete: []Location{{Kind: File, Argument: "other"}}}, origin: file, want: NotSeen},
		"Unmounted": {reason: "its folder is not there", snapshot: Snapshot{ArgumentOf: argumentOf, Missing: []Location{{Kind: File, Argument: "dir"}}}, origin: file, want: LocationMissing},
	} {
		if got := c.snapshot.CoverageOf(c.origin); got != c.want {
			t.Errorf("%s: %s: it is %d, want %d", name, c.reason, got, c.want)
		}
	}
}
