package syntax_test

import (
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

const twoChildren = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  children:
    - id: first
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {x: "10"}}
    - id: second
      template: {apiVersion: v1, kind: Secret, metadata: {name: b}, data: {list: [1, 2]}}
`

func TestLacks(t *testing.T) {
	cases := map[string]struct {
		reason      string
		from, to    string
		want, wayTo bool // wayTo: the other way round
	}{
		"Same":        {reason: "nothing is lost"},
		"Value":       {reason: "another value is no loss", from: `x: "10"`, to: `x: "20"`},
		"Field":       {reason: "a field is gone", from: `data: {x: "10"}`, to: `data: {}`, want: true},
		"MoreFields":  {reason: "a field more", from: `{x: "10"}`, to: `{x: "10", y: "1"}`, wayTo: true},
		"Item":        {reason: "an item of a list is gone", from: "[1, 2]", to: "[2]", want: true},
		"RenamedItem": {reason: "a child of another name is another child", from: "id: first", to: "id: third", want: true, wayTo: true},
		"CutText":     {reason: "the end of a value may not be written yet", from: `"10"`, to: `"1"`, want: true},
		"NoMapping":   {reason: "what had fields has none", from: `data: {x: "10"}`, to: `data: ""`, want: true},
		"LastChild":   {reason: "a child is gone", from: twoChildren[strings.Index(twoChildren, "    - id: second"):], want: true},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			before, after := parseOne(t, twoChildren), parseOne(t, strings.Replace(twoChildren, c.from, c.to, 1))
			if got := after.LacksSomeOf(before); got != c.want {
				t.Errorf("Lacks is %t, want %t: %s", got, c.want, c.reason)
			}
			if got := before.LacksSomeOf(after); got != c.wayTo {
				t.Errorf("the other way round Lacks is %t, want %t: %s", got, c.wayTo, c.reason)
			}
		})
	}
}

// TestLacksOrder: children in another order are the same children.
func TestLacksOrder(t *testing.T) {
	at := strings.Index(twoChildren, "    - id: first")
	second := strings.Index(twoChildren, "    - id: second")
	turned := twoChildren[:at] + twoChildren[second:] + twoChildren[at:second]
	if parseOne(t, turned).LacksSomeOf(parseOne(t, twoChildren)) {
		t.Error("another order is taken for a loss")
	}
}

// TestLacksCut: whatever is cut off at the end of the text is noticed, where it is a policy
// still.
func TestLacksCut(t *testing.T) {
	whole := parseOne(t, twoChildren)
	for end := range len(twoChildren) - 2 {
		cut, err := syntax.Parse("p.yaml", []byte(twoChildren[:end]))
		if err == nil && len(cut) == 1 && !cut[0].LacksSomeOf(whole) {
			t.Errorf("nothing is missed of %q", twoChildren[:end])
		}
	}
}

func parseOne(t *testing.T, text string) *syntax.Document {
	t.Helper()
	documents, err := syntax.Parse("p.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatal(len(documents), err)
	}
	return documents[0]
}
