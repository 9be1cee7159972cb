package policy_test

import (
	"fmt"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

const marked = `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: p}
spec:
  owner: {apiVersion: example.com/v1, kind: App, selector: {matchLabels: {a: b}}, filter: object.metadata.name == 'x'}
  children:
    - id: web
      template: {apiVersion: example.com/v1, kind: %s, metadata: {name: a%s}}
  %s
`

func TestMarks(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		kind, in, more  string
		marks           bool
		inNamespace, no bool // NeedsFinalizerFor, for an owner with a namespace and without
	}{
		"Controlled":    {reason: "an ownerReference ties it", kind: "Part"},
		"ClusterScoped": {reason: "that the kind has no namespace only a cluster knows", kind: "Wide", inNamespace: true},
		"SameNamespace": {reason: "the owner's namespace, written out", kind: "Part", in: `, namespace: "${owner.metadata.namespace}"`},
		"Elsewhere":     {reason: "no ownerReference reaches there, and where it is has to be known", kind: "Part", in: ", namespace: n", marks: true, inNamespace: true, no: true},
		"Orphan":        {reason: "an ownerReference would delete it", kind: "Part", more: "    onDelete: Orphan", marks: true, inNamespace: true, no: true},
		"Merge":         {reason: "what was added has to be known", kind: "Part", more: "    existing: Merge", marks: true, inNamespace: true, no: true},
		"Protect":       {reason: "deletion is held back by a finalizer", kind: "Part", more: "protect: {while: 'true'}", marks: true, inNamespace: true, no: true},
		"Ordered":       {reason: "the order is kept by a finalizer", kind: "Part", more: "deletion: Ordered", marks: true, inNamespace: true, no: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := compiled(t, fmt.Sprintf(marked, tc.kind, tc.in, tc.more))
			inNamespace := p.NeedsFinalizerFor(func(gvk schema.GroupVersionKind) bool { return gvk.Kind != "Wide" })
			without := p.NeedsFinalizerFor(func(gvk schema.GroupVersionKind) bool { return gvk.Kind == "Part" })
			if p.NeedsFinalizer() != tc.marks || inNamespace != tc.inNamespace || without != tc.no {
				t.Errorf("%s: got %t, %t, %t", tc.reason, p.NeedsFinalizer(), inNamespace, without)
			}
			if pushed := p.Owner.LabelSelector == "a=b" && p.Owner.FieldSelector == "metadata.name=x"; pushed == tc.marks {
				t.Errorf("%s: the server selects owners by %q and %q", tc.reason, p.Owner.LabelSelector, p.Owner.FieldSelector)
			}
			if got := p.Owner.Selector.String(); got != "a=b" {
				t.Errorf("the selector for local checks is %q", got)
			}
		})
	}
}
