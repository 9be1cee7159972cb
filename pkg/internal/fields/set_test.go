package fields

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	_ "github.com/ambit-dev/ambit/test/draws"
)

func TestString(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    *Set
		want   string
	}{
		"Nil":           {reason: "nil is the empty set", want: "{}"},
		"Empty":         {reason: "nothing was added", set: New(), want: "{}"},
		"All":           {reason: "whole objects", set: AllFields(), want: "!"},
		"NoElements":    {reason: "the path without elements is the whole object", set: New("a").Add(), want: "!"},
		"Sorted":        {reason: "the order of adding is irrelevant", set: New("b", "a.c", "a.b"), want: "{a{b!,c!},b!}"},
		"Twice":         {reason: "a set holds a path once", set: New("a", "a"), want: "{a!}"},
		"WiderLater":    {reason: "a shorter path covers the longer one", set: New("a.b.c", "a"), want: "{a!}"},
		"WiderBefore":   {reason: "a longer path adds nothing to a shorter one", set: New("a", "a.b.c"), want: "{a!}"},
		"Dots":          {reason: "elements are taken as they are", set: New().Add("a.b/c"), want: "{a.b/c!}"},
		"Escapes":       {reason: "marks in names do not make two sets alike", set: New().Add(`a,b{}!\`), want: `{a\,b\{\}\!\\!}`},
		"AnyCovers":     {reason: "an element adds nothing to all elements", set: New("a.*", "a.b"), want: "{a{*!}}"},
		"AnyLater":      {reason: "all elements cover one that was there", set: New("a.b.c", "a.*"), want: "{a{*!}}"},
		"AnyInPart":     {reason: "an element has what all have, too", set: New("a.*.x", "a.b.y"), want: "{a{*{x!},b{x!,y!}}}"},
		"Presence":      {reason: "presence ends without a mark", set: New().AddPresence("a", "b"), want: "{a{b{}}}"},
		"PresenceWhole": {reason: "a whole path covers its presence", set: New("a").AddPresence("a"), want: "{a!}"},
		"PresenceBelow": {reason: "a longer path covers the presence of a shorter one", set: New("a.b").AddPresence("a"), want: "{a{b!}}"},
		"PresenceRoot":  {reason: "the object itself is there anyway", set: New().AddPresence(), want: "{}"},
		"AnyPresence":   {reason: "an element that has more than presence stays", set: New("a.b").AddPresence("a", "*"), want: "{a{*{},b!}}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.set.String(); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}

func TestHas(t *testing.T) {
	set := New("spec.replicas", "metadata.labels", "list.*.name").AddPresence("status")
	cases := map[string]struct {
		reason string
		set    *Set
		path   []string
		want   bool
	}{
		"Path":        {reason: "it was added", set: set, path: []string{"spec", "replicas"}, want: true},
		"Below":       {reason: "a path covers what is below", set: set, path: []string{"metadata", "labels", "a.b/c"}, want: true},
		"Above":       {reason: "only a part of it is covered", set: set, path: []string{"spec"}},
		"Other":       {reason: "nobody added it", set: set, path: []string{"spec", "paused"}},
		"Element":     {reason: "Any covers each element", set: set, path: []string{"list", "0", "name"}, want: true},
		"Any":         {reason: "Any can be asked for", set: set, path: []string{"list", "*", "name"}, want: true},
		"Presence":    {reason: "presence is not the whole", set: set, path: []string{"status"}},
		"Root":        {reason: "the object is covered in part", set: set},
		"RootOfAll":   {reason: "all is covered", set: AllFields(), want: true},
		"NilHasNone":  {reason: "nil is the empty set", path: []string{"a"}},
		"NilRootNone": {reason: "nil is the empty set"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.set.CoversPath(tc.path...); got != tc.want {
				t.Errorf("%s: Has(%q) = %v", tc.reason, tc.path, got)
			}
		})
	}
}

func TestMetadataOnly(t *testing.T) {
	cases := map[string]struct {
		reason string
		set    *Set
		want   bool
	}{
		"Nil":      {reason: "nothing needs no more than metadata", want: true},
		"Metadata": {reason: "these are in metadata-only streams", set: New("metadata", "kind", "apiVersion"), want: true},
		"Spec":     {reason: "spec is not", set: New("metadata.name", "spec.a")},
		"Presence": {reason: "nor is whether there is a spec", set: New("metadata").AddPresence("spec")},
		"All":      {reason: "whole objects are more", set: AllFields()},
		"Any":      {reason: "so is every field", set: New("*.name")},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := tc.set.MetadataOnly(); got != tc.want {
				t.Errorf("%s: %v", tc.reason, got)
			}
		})
	}
}

func TestUnionChangesNeither(t *testing.T) {
	a, b := New("a.b", "c.*.d"), New("a.e", "c.f").AddPresence("g")
	u := a.Union(b)
	u.Add("a", "b", "more").Add("c").Add("g", "h")
	if diff := cmp.Diff([]string{"{a{b!},c{*{d!}}}", "{a{e!},c{f!},g{}}"}, []string{a.String(), b.String()}); diff != "" {
		t.Errorf("adding to a union changed its parts (-want +got):\n%s", diff)
	}
	if got, want := u.String(), "{a{b!,e!},c!,g{h!}}"; got != want {
		t.Errorf("the union is %s, want %s", got, want)
	}
}

// TestAlgebra: order and repetition are irrelevant to a union, and the text
// tells sets apart exactly as Equal does.
func TestAlgebra(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, c := drawSet(t), drawSet(t), drawSet(t)
		same := map[string][2]*Set{
			"order":    {a.Union(b), b.Union(a)},
			"grouping": {a.Union(b).Union(c), a.Union(b.Union(c))},
			"repeated": {a.Union(a), a},
			"nothing":  {a.Union(nil), a},
			"covered":  {a.Union(b).Union(b), a.Union(b)},
		}
		for what, pair := range same {
			if !pair[0].Equal(pair[1]) || pair[0].String() != pair[1].String() {
				t.Fatalf("%s: %s and %s of %s, %s, %s", what, pair[0], pair[1], a, b, c)
			}
		}
		if a.Equal(b) != (a.String() == b.String()) {
			t.Fatalf("%s and %s: equal is %v", a, b, a.Equal(b))
		}
	})
}

// TestBuilder: a builder makes the set that adding path after path makes.
func TestBuilder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom([]string{"a", "b", Any})
		want, b := &Set{}, Builder{}
		for range rapid.IntRange(0, 6).Draw(t, "paths") {
			path := rapid.SliceOfN(element, 1, 4).Draw(t, "path")
			want.Add(path...)
			at := &b
			for _, element := range path {
				at = at.CollectBelow(element)
			}
			at.AddWhole()
		}
		if got := b.BuildSet(); !got.Equal(want) {
			t.Fatalf("got %s, want %s", got, want)
		}
	})
}

// drawSet draws few names, so that paths meet.
func drawSet(t *rapid.T) *Set {
	s := New()
	element := rapid.SampledFrom([]string{"a", "b", Any})
	for range rapid.IntRange(0, 4).Draw(t, "paths") {
		path := rapid.SliceOfN(element, 1, 4).Draw(t, "path")
		if rapid.Bool().Draw(t, "presence") {
			s.AddPresence(path...)
			continue
		}
		s.Add(path...)
	}
	return s
}

// TestTouchesAndNames: what is covered somehow, and what is named as such.
func TestTouchesAndNames(t *testing.T) {
	path := []string{"metadata", "resourceVersion"}
	cases := map[string]struct {
		reason         string
		set            *Set
		touches, names bool
	}{
		"Nil":      {reason: "nothing is covered"},
		"Named":    {reason: "it is named", set: New("metadata.resourceVersion"), touches: true, names: true},
		"Presence": {reason: "whether it is there is read", set: New().AddPresence(path...), touches: true, names: true},
		"Above":    {reason: "all metadata is read", set: New("metadata"), touches: true},
		"All":      {reason: "everything is read", set: AllFields(), touches: true},
		"AnyKey":   {reason: "a key that is computed may be it", set: New("metadata.*"), touches: true},
		"Other":    {reason: "another field is read", set: New("metadata.name", "spec.resourceVersion")},
		"Here":     {reason: "only that there is metadata is read", set: New().AddPresence("metadata")},
		"Both":     {reason: "it is named beside a computed key", set: New().AddPresence("metadata", Any).Add(path...), touches: true, names: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if touches, names := tc.set.TouchesPath(path...), tc.set.NamesPath(path...); touches != tc.touches || names != tc.names {
				t.Errorf("%s: touches %t, names %t", tc.reason, touches, names)
			}
		})
	}
}
