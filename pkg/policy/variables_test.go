package policy_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

const watching = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  variables:
    - {name: first, expression: "%s"}
    - {name: second, expression: "%s"}
  watches:
    - {id: pods, apiVersion: v1, kind: Pod}
  children:
    - id: parts
      forEach: {as: element, in: "%s"}
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${element.b}"}}
  status: {text: "${%s}"}
`

// TestVariableReads: what is read of a variable is read of the objects that it
// stands for, and that are all that is kept of them.
func TestVariableReads(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, first, second, in, status string
		want                              *fields.Set
	}{
		"List":        {reason: "of each object what is read of the elements", first: "pods.filter(p, p.on)", second: "0", in: "[1]", status: "first.map(p, p.a)", want: fields.New("on", "a")},
		"Sorted":      {reason: "and what sorting takes", first: "pods.sortBy(p, p.at).slice(0, 1) // why", second: "0", in: "[1]", status: "first.map(p, p.a)", want: fields.New("at", "a")},
		"Counted":     {reason: "how many there are is no field", first: "pods", second: "size(first)", in: "[1]", status: "second"},
		"Unused":      {reason: "nobody reads it", first: "pods", second: "0", in: "[1]", status: "second"},
		"Chain":       {reason: "through another variable", first: "pods", second: "first.filter(p, p.on)", in: "[1]", status: "second[0].a", want: fields.New("on", "a")},
		"Object":      {reason: "one object", first: "pods[0]", second: "first", in: "[1]", status: "second.a.b", want: fields.New("a.b")},
		"First":       {reason: "one object, if there is any", first: "pods.first().orValue({})", second: "first.a", in: "[1]", status: "second", want: fields.New("a")},
		"OfAll":       {reason: "an object of the list that is another variable", first: "pods.filter(p, p.on)", second: "first[0]", in: "[1]", status: "second.a", want: fields.New("on", "a")},
		"Elements":    {reason: "elements of forEach", first: "pods", second: "first.filter(p, p.on)", in: "second", status: "1", want: fields.New("on", "b")},
		"Computed":    {reason: "the value is no object of the watch", first: "pods.map(p, {'b': p.a})", second: "0", in: "first", status: "first[0].c", want: fields.New("a")},
		"Part":        {reason: "a part of one is taken whole", first: "pods[0].spec", second: "0", in: "[1]", status: "first.a", want: fields.New("spec")},
		"Whole":       {reason: "all of the objects is used", first: "pods", second: "string(first)", in: "[1]", status: "second", want: fields.AllFields()},
		"WholeObject": {reason: "all of one is used", first: "pods[0]", second: "0", in: "[1]", status: "first", want: fields.AllFields()},
		"Branches":    {reason: "which of them cannot be told", first: "true ? pods : []", second: "0", in: "[1]", status: "first.map(p, p.a)", want: fields.AllFields()},
		"Inside":      {reason: "objects within something else", first: "{'all': pods}", second: "first.all", in: "[1]", status: "second.map(p, p.a)", want: fields.AllFields()},
		"AlsoWhole":   {reason: "elsewhere all is used", first: "pods.filter(p, p == {})", second: "0", in: "[1]", status: "first.map(p, p.a)", want: fields.AllFields()},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, fmt.Sprintf(watching, tc.first, tc.second, tc.in, tc.status))
			always := compiled(t, fmt.Sprintf(watching, "0", "0", "[1]", "1")).Watches[0].Fields
			want := always.Union(tc.want)
			if got := p.Watches[0].Fields; !got.Equal(want) {
				t.Errorf("%s: reads %s, want %s", tc.reason, got, want)
			}
		})
	}
}

// TestVariableWatches: a variable is known after the watches that it reads.
func TestVariableWatches(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, first, second, in string
		want                      [3][]string // of first, second, and the child
	}{
		"None":    {reason: "no watch is read", first: "1", second: "first", in: "[second]"},
		"Itself":  {reason: "what reads the variable waits as well", first: "1", second: "size(pods)", in: "[second]", want: [3][]string{nil, {"pods"}, {"pods"}}},
		"Through": {reason: "through another variable", first: "size(pods)", second: "first", in: "[second]", want: [3][]string{{"pods"}, {"pods"}, {"pods"}}},
		"Unread":  {reason: "the child reads another one", first: "size(pods)", second: "1", in: "[second]", want: [3][]string{{"pods"}, nil, nil}},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, fmt.Sprintf(watching, tc.first, tc.second, tc.in, "1"))
			got := [3][]string{p.Variables[0].Watches, p.Variables[1].Watches, p.Children[0].Watches}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
