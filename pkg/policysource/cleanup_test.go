package policysource

import (
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/test/policytext"
)

// retiring is a source with one custom resource, which is deleted when delete is called.
type retiring struct {
	*testing.T
	engine *fakeEngine
	source *Source
	text   manifest.Manifest
	log    []string
}

func newRetiring(t *testing.T, owned bool) *retiring {
	t.Helper()
	r := &retiring{T: t, engine: newFakeEngine()}
	var err error
	logger := funcr.New(func(_, args string) { r.log = append(r.log, args) }, funcr.Options{})
	r.source, err = New(Options{Files: []string{t.TempDir()}, Controller: r.engine, Logger: logger})
	must(t, err)
	o := manifest.Origin{Kind: manifest.CustomResource, Namespace: "team", Name: "cache"}
	r.text = manifest.Manifest{Origin: o, Object: policytext.Object(t, []byte(policytext.Document("cache v1")), o.Namespace, o.Name), HasFinalizer: true, HasOwners: owned}
	r.text = r.text.WithDigest()
	return r
}

// isRetired makes a pass, and says whether the policy is still being cleaned up after.
func (r *retiring) isRetired() bool {
	r.Helper()
	s := r.source
	s.registry.TakeSnapshot(manifest.Snapshot{Manifests: []manifest.Manifest{r.text}}, time.Now())
	d := s.registry.DecidePolicies(time.Now())
	s.noteOwners(d)
	s.handover.applyDecision(d, time.Now())
	must(r.T, s.handover.refusal.err)
	return len(s.checkCleanups(d, time.Now()).Retire) == 1
}

// TestNoAccount: a policy that was deleted waits for its account for a while, and then
// lets go.
func TestNoAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRetiring(t, true)
		r.text.Deleting = true
		halt := policystatus.Report{Policy: "team/cache", PolicyError: &policystatus.PolicyError{Reason: v1alpha1.ReasonServiceAccountMissing}}
		for _, step := range []struct {
			report policystatus.Report
			wait   time.Duration
			want   bool
		}{
			{report: halt, want: true},
			{report: halt, wait: abandonAfter - time.Second, want: true},
			{report: policystatus.Report{Policy: "team/cache"}, wait: 2 * time.Second, want: true}, // it came back
			{report: halt, wait: time.Second, want: true},
			{report: halt, wait: abandonAfter, want: false},
		} {
			time.Sleep(step.wait)
			r.engine.report(step.report)
			if got := r.isRetired(); got != step.want {
				t.Errorf("after %s: it is being cleaned up after: %t", step.wait, got)
			}
		}
	})
}

// TestEndOfCleaningUp: the log says once that it is over, and what is true: that all is
// cleaned up, or what is missing for it.
func TestEndOfCleaningUp(t *testing.T) {
	const ghost = `ServiceAccount "sites" does not exist in namespace "team"`
	const left = "nobody can clean up after it: `ambit leftovers` shows what it may have left"
	pods := []v1alpha1.DeniedAccess{{Verb: "list", Resource: "pods", Message: "cannot list pods"}}
	for name, test := range map[string]struct {
		report policystatus.Report
		clean  bool
		want   string
	}{
		"Clean":     {clean: true, want: "all is cleaned up\" \"policy\"=\"team/cache\""},
		"NoAccount": {report: policystatus.Report{PolicyError: &policystatus.PolicyError{Reason: v1alpha1.ReasonServiceAccountMissing, Message: ghost}}, want: left + "\" \"policy\"=\"team/cache\" \"message\"=" + strconv.Quote(ghost)},
		"NoRight":   {report: policystatus.Report{Nowhere: true, Denied: pods}, clean: true, want: left + "\" \"policy\"=\"team/cache\" \"message\"=\"cannot list pods\""},
		"Nowhere":   {report: policystatus.Report{Nowhere: true}, clean: true, want: left + "\" \"policy\"=\"team/cache\" \"message\"=\"owners may not be watched in any namespace of the policy's scope\""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetiring(t, false)
				r.isRetired()
				r.text.Deleting, r.engine.left, test.report.Policy = true, 0, "team/cache"
				r.isRetired()
				r.engine.report(test.report)
				if test.clean {
					r.engine.clean("team/cache")
				}
				for r.isRetired() {
					time.Sleep(abandonAfter)
				}
				r.isRetired()
				want := []string{`"level"=0 "msg"="a policy was deleted, and ` + test.want}
				if diff := cmp.Diff(want, r.log); diff != "" {
					t.Errorf("the log (-want +got):\n%s", diff)
				}
			})
		})
	}
}

// TestLetGo: what a policy that was deleted waits for, however long, and what it does
// not.
func TestLetGo(t *testing.T) {
	forbidden := &policystatus.PolicyError{Reason: v1alpha1.ReasonForbidden}
	account := []v1alpha1.DeniedAccess{{Verb: "list", Resource: "serviceaccounts", Namespace: "team", Name: "default"}}
	for name, test := range map[string]struct {
		reason string
		before policystatus.Report // while it ran
		after  policystatus.Report
		owned  bool // by its status
		left   int
		blind  bool // the engine sees no owners, and so is done
		waits  bool
	}{
		"RoleBindingFirst": {
			reason: "Ambit may not act as the account: it may be gone, and nobody can see that any more",
			owned:  true, left: 2, after: policystatus.Report{PolicyError: &policystatus.PolicyError{Reason: v1alpha1.ReasonImpersonationRefused}},
		},
		"AccountHidden":  {reason: "Ambit may not see the account", owned: true, after: policystatus.Report{PolicyError: forbidden, Denied: account}},
		"NeverOwned":     {reason: "it may look for owners nowhere, and never had any", after: policystatus.Report{Nowhere: true}, blind: true},
		"NeverAnywhere":  {reason: "it may not look for owners cluster-wide, and never had any", after: policystatus.Report{PolicyError: forbidden}},
		"OwnedByStatus":  {reason: "it had owners", owned: true, after: policystatus.Report{Nowhere: true}, blind: true, waits: true},
		"OwnedBefore":    {reason: "it had owners", before: policystatus.Report{Serving: true, Stalled: 1}, after: policystatus.Report{PolicyError: forbidden}, waits: true},
		"OwnersLeft":     {reason: "there are owners", left: 1, after: policystatus.Report{PolicyError: forbidden}, waits: true},
		"SomethingElse":  {reason: "that passes by itself", after: policystatus.Report{PolicyError: &policystatus.PolicyError{Reason: v1alpha1.ReasonUnavailable}}, waits: true},
		"NotLookedYet":   {reason: "it has not looked for owners yet", after: policystatus.Report{}, waits: true},
		"OthersAccounts": {reason: "the account is not its own", owned: true, after: policystatus.Report{PolicyError: forbidden, Denied: []v1alpha1.DeniedAccess{{Verb: "list", Resource: "serviceaccounts", Namespace: "team", Name: "child"}}}, waits: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRetiring(t, test.owned)
				test.before.Policy, test.after.Policy = "team/cache", "team/cache"
				r.engine.report(test.before)
				r.isRetired()
				r.text.Deleting = true
				r.engine.left = test.left
				r.isRetired() // what was reported last is about the time before
				r.engine.report(test.after)
				if test.blind {
					r.engine.clean("team/cache")
				}
				if !r.isRetired() {
					t.Fatal("it is let go at once")
				}
				time.Sleep(abandonAfter)
				if waits := r.isRetired(); waits != test.waits {
					t.Errorf("%s: it waits: %t", test.reason, waits)
				}
			})
		})
	}
}
