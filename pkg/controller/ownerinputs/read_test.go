package ownerinputs

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/plan"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// objectIn is an object called as its namespace.
func objectIn(namespace string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{Object: map[string]any{}}
	o.SetNamespace(namespace)
	o.SetName(namespace)
	return o
}

func TestReadSource(t *testing.T) {
	forbidden := &plan.Problem{Reason: v1alpha1.ReasonForbidden, Message: "forbidden"}
	syncing := &plan.Problem{Reason: v1alpha1.ReasonSyncing, Message: "syncing"}
	all := plan.Input{Objects: []*unstructured.Unstructured{objectIn("a"), objectIn("b"), objectIn("out")}}
	cases := map[string]struct {
		reason    string
		from      source
		namespace string
		read      []plan.Input
		want      []string // names
		blocked   string
	}{
		"Blocked":       {reason: "there is no stream", from: source{problem: forbidden}, blocked: "forbidden"},
		"None":          {reason: "nothing can be there"},
		"One":           {reason: "all that the stream shows", from: source{to: 1}, read: []plan.Input{all}, want: []string{"a", "b", "out"}},
		"Wide":          {reason: "of what the stream shows, one namespace", from: source{to: 1, wide: true}, namespace: "b", read: []plan.Input{all}, want: []string{"b"}},
		"WideBlocked":   {reason: "nothing is known of that namespace", from: source{to: 1, wide: true}, namespace: "b", read: []plan.Input{{Blocked: syncing}}, blocked: "syncing"},
		"Scoped":        {reason: "excluded namespaces are left out", from: source{to: 1, scoped: true}, read: []plan.Input{all}, want: []string{"a", "b"}},
		"Many":          {reason: "all of them", from: source{to: 2}, read: []plan.Input{all, {Objects: all.Objects[:1]}}, want: []string{"a", "b", "out", "a"}},
		"ManyBlocked":   {reason: "one is not known, so all are not", from: source{to: 2}, read: []plan.Input{all, {Blocked: forbidden}}, blocked: "forbidden"},
		"Lenient":       {reason: "what may not be watched is left out", from: source{to: 2, lenient: true}, read: []plan.Input{{Blocked: forbidden}, {Objects: all.Objects[:1]}}, want: []string{"a"}},
		"LenientSyncs":  {reason: "what is only not known yet is waited for", from: source{to: 2, lenient: true}, read: []plan.Input{{Blocked: syncing}, all}, blocked: "syncing"},
		"LenientOfNone": {reason: "it may be watched nowhere", from: source{lenient: true}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			r := &reader{planner: &Planner{Options: Options{Program: &policy.Program{Exclude: []string{"out"}}}}}
			for i := range tc.read {
				r.read = append(r.read, &tc.read[i])
			}
			for range 2 { // the second time from what was remembered
				in := r.readSource(tc.from, tc.namespace)
				var got []string
				for _, o := range in.Objects {
					got = append(got, o.GetName())
				}
				message := ""
				if in.Blocked != nil {
					message = in.Blocked.Message
				}
				if !slices.Equal(got, tc.want) || message != tc.blocked {
					t.Errorf("%s: %v, blocked by %q", tc.reason, got, message)
				}
			}
		})
	}
}

// TestInputProblem: each state of a stream without a first list has a problem that says what it is, and
// whether somebody has to act.
func TestInputProblem(t *testing.T) {
	key := informer.Key{GVR: schema.GroupVersionResource{Version: "v1", Resource: "pods"}, Namespace: "a"}
	b := newBench(t, childSpec)
	cases := map[informer.State]struct {
		reason   string
		terminal bool
		message  string
	}{
		informer.Forbidden:       {v1alpha1.ReasonForbidden, true, `cannot list, watch pods in namespace "a" as bot`},
		informer.Unauthenticated: {v1alpha1.ReasonUnauthenticated, true, `the API server does not accept the identity for watching pods in namespace "a": why`},
		informer.Missing:         {v1alpha1.ReasonKindMissing, true, `the API server does not serve pods in namespace "a"`},
		informer.Invalid:         {v1alpha1.ReasonInvalid, true, `the API server refuses to watch pods in namespace "a": why`},
		informer.Degraded:        {v1alpha1.ReasonUnavailable, false, `watching pods in namespace "a": why`},
		informer.Starting:        {v1alpha1.ReasonSyncing, false, `waiting for the first list of pods in namespace "a"`},
	}
	for state, want := range cases {
		p := b.inputProblem(key, informer.Status{State: state, Message: "why"})
		if p.Reason != want.reason || p.Terminal != want.terminal || p.Message != want.message {
			t.Errorf("%v: %+v", state, p)
		}
		if isGone, isDenied := state == informer.Missing, state == informer.Forbidden; p.Gone != isGone || len(p.Denied) > 0 != isDenied {
			t.Errorf("%v: gone %t, denied %v", state, p.Gone, p.Denied)
		}
	}
}
