package policystatus

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

func TestReady(t *testing.T) {
	good, suspended := &policy.Program{Name: "p"}, &policy.Program{Name: "p", Suspend: true}
	broken := &policy.Program{Name: "p", CleanupOnly: errBroken}
	denied := []v1alpha1.DeniedAccess{{Verb: "list", Resource: "pods", Namespace: "x", Message: "cannot list pods"}}
	for name, c := range map[string]struct {
		reason   string
		document registry.PolicyState
		report   *Report
		left     int
		want     string
		stalled  bool
	}{
		"Serving":   {reason: "all is well", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}}, report: &Report{Serving: true}, want: "True Serving: "},
		"Denied":    {reason: "a denial somewhere does not stop the rest", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}}, report: &Report{Serving: true, Denied: denied}, want: "True Serving: "},
		"Nowhere":   {reason: "but everywhere it does", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}}, report: &Report{Serving: true, Nowhere: true, Denied: denied}, want: "False Forbidden: cannot list pods", stalled: true},
		"NoRights":  {reason: "also if nobody ever gave a right", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}}, report: &Report{Serving: true, Nowhere: true}, want: "False Forbidden: owners may not be watched in any namespace of the policy's scope", stalled: true},
		"Syncing":   {reason: "lists pass", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}}, report: &Report{}, want: "False Syncing: the first lists of owners are not in yet"},
		"Held":      {reason: "it waits for its finalizer", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}, AwaitsFinalizer: true}, want: "False Starting: the policy is about to be run"},
		"Suspended": {reason: "it does what it says: nothing", document: registry.PolicyState{Resolution: registry.Resolution{Program: suspended}}, report: &Report{}, want: "True Suspended: no work is done while spec.suspend is true"},
		"Halted": {reason: "what stops the engine has its reason", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}}, stalled: true,
			report: &Report{PolicyError: &PolicyError{Reason: v1alpha1.ReasonServiceAccountMissing, Message: "no account"}}, want: "False ServiceAccountMissing: no account"},
		"Quarantined": {reason: "a quarantine ends by itself", document: registry.PolicyState{Resolution: registry.Resolution{Program: good}},
			report: &Report{Serving: true, PolicyError: &PolicyError{Reason: v1alpha1.ReasonQuarantined, Message: "slow"}}, want: "False Quarantined: slow"},
		"LastGood": {reason: "another version than the one that is written runs", document: registry.PolicyState{Resolution: registry.Resolution{State: registry.Invalid, Program: good}}, report: &Report{Serving: true},
			want: "False Invalid: the policy does not compile as it is now: the last version that did is run", stalled: true},
		"Salvaged": {reason: "it only cleans up", document: registry.PolicyState{Resolution: registry.Resolution{State: registry.Invalid, Program: broken}}, report: &Report{Serving: true},
			want: "False Invalid: the policy does not compile: it only cleans up after owners that are deleted", stalled: true},
		"Illegible":  {reason: "nothing runs", document: registry.PolicyState{Resolution: registry.Resolution{State: registry.Invalid}}, want: "False Invalid: the policy does not compile, and nothing is run", stalled: true},
		"Superseded": {reason: "another has its owners", document: registry.PolicyState{Resolution: registry.Resolution{State: registry.Superseded, Reason: v1alpha1.ReasonOwnersTaken, Message: "taken"}}, want: "False OwnersTaken: taken", stalled: true},
		"Deleting":   {reason: "it cleans up", document: registry.PolicyState{Deleting: true, Retiring: true, Resolution: registry.Resolution{Program: good}}, report: &Report{}, left: 3, want: "False Deleting: the policy was deleted, and is cleaning up: 3 left"},
		"Uncounted":  {reason: "nothing is counted yet", document: registry.PolicyState{Deleting: true, Retiring: true, Resolution: registry.Resolution{Program: good}}, want: "False Deleting: the policy was deleted, and is cleaning up"},
		"Creating": {reason: "cleaning up creates nothing", document: registry.PolicyState{Deleting: true, Retiring: true, Resolution: registry.Resolution{Program: good}}, left: 1,
			report: &Report{Denied: []v1alpha1.DeniedAccess{{Verb: "create", Resource: "pods"}}}, want: "False Deleting: the policy was deleted, and is cleaning up: 1 left"},
		"Stuck": {reason: "it cannot clean up", document: registry.PolicyState{Deleting: true, Retiring: true, Resolution: registry.Resolution{Program: good}}, report: &Report{Denied: denied}, stalled: true,
			want: "False Deleting: the policy was deleted, and cannot clean up: cannot list pods"},
		"Abandoned": {reason: "and nobody can clean up", document: registry.PolicyState{Deleting: true, CleanedUp: true, WhyAbandoned: "no account"}, stalled: true,
			want: "False Deleting: the policy was deleted, and nobody can clean up after it: no account; `ambit leftovers` shows what it may have left"},
		"Done": {reason: "others may hold the object", document: registry.PolicyState{Deleting: true, CleanedUp: true}, want: "False Deleting: the policy was deleted, and all is cleaned up"},
	} {
		t.Run(name, func(t *testing.T) {
			got, stalled := readyCondition(c.document, c.report, c.left)
			if text := got.Status + " " + got.Reason + ": " + got.Message; text != c.want || stalled != c.stalled {
				t.Errorf("%s: %q, stalled %t; want %q, %t", c.reason, text, stalled, c.want, c.stalled)
			}
		})
	}
}

// TestDeniedText: a message names few, each once, and how many there are.
func TestDeniedText(t *testing.T) {
	a, b := v1alpha1.DeniedAccess{Message: "no a"}, v1alpha1.DeniedAccess{Verb: "list", Resource: "pods", Namespace: "x"}
	for want, list := range map[string][]v1alpha1.DeniedAccess{
		"no a": {a, a},
		`no a; cannot list pods in namespace "x"`: {a, b},
		"no a; 5 accesses are denied in all":      {a, a, a, a, a},
	} {
		if diff := cmp.Diff(want, DescribeDenied(list)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
