package policy_test

import (
	"fmt"
	"testing"

	"github.com/ambit-dev/ambit/pkg/internal/fields"
)

const looping = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App}
  watches:
    - {id: pods, apiVersion: v1, kind: Pod}
  children:
    - id: parts
      forEach: {as: element, in: "%s"}
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "%s"}}
      readyWhen: [parts.data.up == element.status.up]
    - id: others
      forEach: {as: element, in: "[1]"}
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "o-${element}"}}
`

// TestElementReads: of objects that are elements only what is read of the
// element is read.
func TestElementReads(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, in, name string
		want             *fields.Set
	}{
		"Objects":  {reason: "each element is a Pod", in: "pods", name: "${element.spec.node}", want: fields.New("spec.node", "status.up")},
		"Filtered": {reason: "and what the filter reads", in: "pods.filter(p, p.spec.on) // why", name: "x", want: fields.New("spec.on", "status.up")},
		"Whole":    {reason: "all of the element is used", in: "pods", name: "${string(element)}", want: fields.AllFields()},
		"Computed": {reason: "the element is no Pod", in: "pods.map(p, {'status': p.spec.a})", name: "${element.b}", want: fields.New("spec.a")},
		"Part":     {reason: "the element is below a Pod, and taken whole", in: "pods[0].spec.all", name: "${element.b}", want: fields.New("spec.all")},
		"Several":  {reason: "which of them cannot be told", in: "pods + pods", name: "${element.b}", want: fields.AllFields()},
		"None":     {reason: "nothing of Pods", in: "[{'status': {'up': 1}}]", name: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, fmt.Sprintf(looping, tc.in, tc.name))
			always := compiled(t, fmt.Sprintf(looping, "[1]", "x")).Watches[0].Fields
			want := always.Union(tc.want)
			if got := p.Watches[0].Fields; !got.Equal(want) {
				t.Errorf("%s: reads %s, want %s", tc.reason, got, want)
			}
		})
	}
}
