package ownerreconcile

import (
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/discovery"
	"github.com/ambit-dev/ambit/pkg/controller/ownerinputs"
	"github.com/ambit-dev/ambit/pkg/controller/refusedwrites"
	"github.com/ambit-dev/ambit/pkg/controller/writeconflict"
	"github.com/ambit-dev/ambit/pkg/internal/apply"
	"github.com/ambit-dev/ambit/pkg/plan"
)

// TestLacksLabels: an object whose answer lacks a label that streams need is said to be there, and
// is neither made nor changed again before the backoff has passed, which grows.
func TestLacksLabels(t *testing.T) {
	b := newBench(t, "")
	clock := b.clock
	state := b.state
	object := func(labels map[string]string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetLabels(labels)
		return o
	}
	whole := map[string]string{v1alpha1.LabelPolicy: "a", v1alpha1.LabelOwnerUID: "u"}
	action := plan.Action{Verb: plan.Create, Child: "child", Name: "web", Namespace: "n", Wanted: "w", Object: object(whole),
		GVK: schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}}
	cases := map[string]struct {
		reason  string
		have    map[string]string
		apply   v1alpha1.ApplyMode
		met     bool
		going   bool   // it is being deleted
		want    string // the label that is said to be missing
		handled bool
	}{
		"Whole":     {reason: "nothing is missing", have: whole},
		"Policy":    {reason: "the stream is selected by it", have: map[string]string{v1alpha1.LabelOwnerUID: "u"}, want: v1alpha1.LabelPolicy, handled: true},
		"Owner":     {reason: "the stream is read by it", have: map[string]string{v1alpha1.LabelPolicy: "a"}, want: v1alpha1.LabelOwnerUID, handled: true},
		"Another":   {reason: "it has another value", have: map[string]string{v1alpha1.LabelPolicy: "b", v1alpha1.LabelOwnerUID: "u"}, want: v1alpha1.LabelPolicy, handled: true},
		"Met":       {reason: "what was there already is changed first", met: true, handled: true},
		"Going":     {reason: "no event says that it is gone at last", met: true, going: true, handled: true},
		"Once":      {reason: "nothing is written to what was there already", apply: v1alpha1.ApplyCreate, met: true, want: v1alpha1.LabelPolicy, handled: true},
		"Anew":      {reason: "the same", apply: v1alpha1.ApplyRecreate, met: true, want: v1alpha1.LabelPolicy, handled: true},
		"OnceGoing": {reason: "it is made again when it is gone", apply: v1alpha1.ApplyCreate, met: true, going: true, handled: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b.options.Program.Children[0].Apply = tc.apply
			p := b.begin(nil)
			found := object(tc.have)
			if tc.going {
				found.SetDeletionTimestamp(&metav1.Time{Time: clock.Now()})
			}
			handled := childWriter{p}.lacksLabels(t.Context(), action, discovery.Resource{}, apply.Outcome{Object: found, Met: tc.met})
			problem, said := p.problems[action.Key()]
			if handled != tc.handled || said != (tc.want != "") || !strings.Contains(problem.Message, tc.want) || len(p.existing) == 1 != (tc.met && tc.want == "") {
				t.Errorf("%s: handled %t, met %d, says %+v", tc.reason, handled, len(p.existing), problem)
			}
			if hidden := slices.ContainsFunc(p.existing, existingObject.isHidden); hidden != tc.going {
				t.Errorf("%s: it is looked for again: %t", tc.reason, hidden)
			}
			if tc.want != "" && (problem.Reason != v1alpha1.ReasonLabelsRemoved || !problem.Terminal) {
				t.Errorf("%s: %+v", tc.reason, problem)
			}
		})
	}
	state.refused = refusedwrites.Writes{}
	var waits []time.Duration
	for range 10 {
		p := b.begin(nil)
		childWriter{p}.lacksLabels(t.Context(), action, discovery.Resource{}, apply.Outcome{Object: object(nil)})
		change := action
		change.Verb, change.UID = plan.Apply, "uid"
		for _, a := range []plan.Action{action, change} {
			if !p.isHeldBack(a.Key(), func() string { return labelsText(a) }, ownerinputs.PlacePermissions{}, nil) {
				t.Errorf("%s is tried again at once", a.Verb)
			}
		}
		waits = append(waits, p.RequeueAfter(&plan.Plan{}))
		clock.Step(waits[len(waits)-1])
	}
	if waits[0] > time.Second || waits[9] < writeconflict.MaxWait {
		t.Errorf("the waits are %v", waits)
	}
}
