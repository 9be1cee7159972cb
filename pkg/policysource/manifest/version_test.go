package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// TestWithContentsOf: while a new version is not compiled, the older one stands in its place, and nobody takes it for
// the newest; what the object itself says now, as that it is being deleted, holds at once.
func TestWithContentsOf(t *testing.T) {
	contents := &Contents{Documents: []Document{{Name: "old"}}}
	version := func(uid types.UID, generation int64) Manifest {
		return Manifest{Origin: resourceOrigin, Data: []byte("old"), Digest: "old", Size: 3, Steady: true, UID: uid, Generation: generation, Contents: contents}
	}
	for name, c := range map[string]struct {
		reason   string
		now, old Manifest
		want     Manifest
	}{
		"Edited": {reason: "the generation is that of the text", old: version("u", 3), now: Manifest{Origin: resourceOrigin, Data: []byte("new"), Digest: "new", UID: "u", Generation: 4},
			want: version("u", 3)},
		"MadeAnew": {reason: "the new object has had no version of that generation", old: version("u", 3), now: Manifest{Origin: resourceOrigin, Data: []byte("new"), Digest: "new", UID: "v", Generation: 3},
			want: version("v", 0)},
		"Deleting": {reason: "an edit does not hold up a deletion", old: version("u", 3),
			now: Manifest{Origin: resourceOrigin, Data: []byte("new"), UID: "u", Generation: 4, Deleting: true, HasFinalizer: true, HasOwners: true, CannotSetFinalizer: true},
			want: func() Manifest {
				m := version("u", 3)
				m.Deleting, m.HasFinalizer, m.HasOwners, m.CannotSetFinalizer = true, true, true, true
				return m
			}()},
		"HalfWritten": {reason: "a new text that cannot be read says nothing of the older one", old: Manifest{Origin: fileOrigin, Data: []byte("old"), Contents: contents},
			now:  Manifest{Origin: fileOrigin, Unreadable: errors.New("no"), Steady: true, JustWritten: true},
			want: Manifest{Origin: fileOrigin, Data: []byte("old"), Contents: contents, JustWritten: true}},
	} {
		t.Run(name, func(t *testing.T) {
			same := cmp.Comparer(func(a, b *Contents) bool { return a == b })
			if diff := cmp.Diff(c.want, c.now.WithContentsOf(c.old), same); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestCompareOrigins: files go before custom resources, and these before ConfigMaps; the rest is told apart by names, each
// part by itself.
func TestCompareOrigins(t *testing.T) {
	sorted := []Origin{
		{Kind: File, File: "a.yaml"},
		{Kind: File, File: "b.yaml"},
		{Kind: CustomResource, Namespace: "a", Name: "z"},
		{Kind: CustomResource, Namespace: "b", Name: "a"},
		{Kind: ConfigMap, Namespace: "a", Name: "a", Key: "b.yaml"},
		{Kind: ConfigMap, Namespace: "a", Name: "b", Key: "a.yaml"},
	}
	for i, a := range sorted {
		for j, b := range sorted {
			if got, want := CompareOrigins(a, b), min(1, max(-1, i-j)); got != want {
				t.Errorf("%s compared with %s is %d, want %d", a, b, got, want)
			}
		}
	}
	shuffled := slices.Clone(sorted)
	slices.Reverse(shuffled)
	slices.SortFunc(shuffled, CompareOrigins)
	if diff := cmp.Diff(sorted, shuffled); diff != "" {
		t.Errorf("the order (-want +got):\n%s", diff)
	}
}

// TestManyMistakes: a message names the first mistakes, and how many more there are.
func TestManyMistakes(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		count  int
		lines  int
		last   string
	}{
		"Few":  {reason: "all of them", count: maxMistakes, lines: maxMistakes, last: "a.yaml:8:1: mistake"},
		"Many": {reason: "a condition is to be read", count: maxMistakes + 5, lines: maxMistakes + 1, last: "and 5 more"},
	} {
		var found syntax.Errors
		for i := range c.count {
			found = append(found, &syntax.Error{File: "a.yaml", Line: i + 1, Column: 1, Message: "mistake"})
		}
		lines := strings.Split(BriefMessage(fmt.Errorf("compiling: %w", found)), "\n")
		if len(lines) != c.lines || lines[len(lines)-1] != c.last {
			t.Errorf("%s: %s: the message is %q", name, c.reason, lines)
		}
	}
}

// TestDigestOfKind: an object whose kind changes is another policy, although its spec is the same, and a text is another
// one when it cannot be read for another reason.
func TestDigestOfKind(t *testing.T) {
	spec := map[string]any{"owner": "x"}
	digests := map[string]string{}
	for name, m := range map[string]Manifest{
		"Kind":     {Object: map[string]any{"kind": "ReconcilePolicy", "spec": spec}},
		"Other":    {Object: map[string]any{"kind": "Other", "spec": spec}},
		"Version":  {Object: map[string]any{"apiVersion": "ambit.dev/v2", "kind": "ReconcilePolicy", "spec": spec}},
		"Missing":  {Unreadable: errors.New("it is not there")},
		"TooLarge": {Unreadable: errors.New("it is too large")},
		"Empty":    {},
	} {
		digest := m.WithDigest().Digest
		if other, taken := digests[digest]; taken {
			t.Errorf("%s has the digest of %s", name, other)
		}
		digests[digest] = name
	}
	labelled := map[string]any{"kind": "ReconcilePolicy", "spec": spec, "metadata": map[string]any{"labels": map[string]any{"a": "b"}, "resourceVersion": "2"}}
	if got := (Manifest{Object: labelled, Created: time.Now()}).WithDigest().Digest; digests[got] != "Kind" {
		t.Error("metadata makes another policy of it: each write of Ambit's would compile it anew")
	}
}
