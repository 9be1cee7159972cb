package plan

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestBeginAndFinish: a plan that is finished late is what Make makes, though problems have changed since.
func TestBeginAndFinish(t *testing.T) {
	for name, prepare := range map[string]func(*operator){
		"Create": func(*operator) {},
		"NoOp":   func(o *operator) { o.finish(t) },
		"Change": func(o *operator) {
			o.finish(t)
			o.setOwner(t, `{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: sample}, spec: {size: 4}}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			o := memcached(t)
			prepare(o)
			problems := func(s Snapshot) Snapshot {
				s.Problems = map[string]Problem{"deployment": {Reason: "Forbidden", Message: "cannot patch deployments"}}
				return s
			}
			want := Make(t.Context(), o.program, problems(o.snapshot()))
			s := problems(o.snapshot())
			draft := Begin(t.Context(), o.program, s)
			if (len(draft.Conditions) > 0) != draft.IsFinished() {
				t.Errorf("finished: %t, conditions %v", draft.IsFinished(), draft.Conditions)
			}
			clear(s.Problems)
			clear(s.ServerNormalized)
			for range 2 {
				got := draft.Finish(t.Context())
				if diff := cmp.Diff(want.String(), got.String()); diff != "" || !draft.IsFinished() {
					t.Errorf("finished late (-made at once +got):\n%s", diff)
				}
			}
			if len(want.Conditions) == 0 {
				t.Errorf("there is nothing to finish in\n%s", want)
			}
		})
	}
}

// TestRenderedAlone: what is done to the object of one owner is not done to that of another one, nor
// to the next plan: parts of a template are shared.
func TestRenderedAlone(t *testing.T) {
	program := compile(t, `
children:
- id: secret
  template:
    apiVersion: v1
    kind: Secret
    metadata: {name: "${owner.metadata.name}", labels: {a: b}}
    data: {constant: eA==}
    stringData: {size: "${string(owner.spec.size)}"}
`)
	render := func(size int) *unstructured.Unstructured {
		o := &operator{world: &world{}, program: program, writes: -1}
		o.setOwner(t, fmt.Sprintf(`{apiVersion: example.com/v1, kind: App, metadata: {name: sample}, spec: {size: %d}}`, size))
		p := o.plan(t)
		if len(p.Actions) != 1 {
			t.Fatalf("the plan is\n%s", p)
		}
		return p.Actions[0].Object
	}
	one := render(1)
	want := one.DeepCopy()
	two := render(2)
	if diff := cmp.Diff(want.Object, one.Object); diff != "" {
		t.Errorf("the Secret of one owner changed with that of another (-before +after):\n%s", diff)
	}
	two.Object["data"].(map[string]any)["constant"] = "changed"
	two.Object["metadata"].(map[string]any)["labels"].(map[string]any)["a"] = "changed"
	if diff := cmp.Diff(want.Object, render(1).Object); diff != "" {
		t.Errorf("what was done to one is in the next (-want +got):\n%s", diff)
	}
}
