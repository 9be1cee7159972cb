package uninstall

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// fakeRetirement is a controller that is as far as it is told to be.
type fakeRetirement struct {
	left     map[string]int // by policy; one that is not in it is done
	errors   []controller.PolicyError
	reports  []controller.Report
	blockers []controller.CleanupBlocker
	// asked is called each time that it is asked how far it is, if not nil.
	asked func()
}

func (f *fakeRetirement) Retired() (left int, done bool) {
	if f.asked != nil {
		f.asked()
	}
	for _, n := range f.left {
		left += n
	}
	return left, len(f.left) == 0
}

func (f *fakeRetirement) RetiredOf(id string) (left int, done bool) {
	left, known := f.left[id]
	return left, !known
}

func (f *fakeRetirement) PolicyErrors() []controller.PolicyError       { return f.errors }
func (f *fakeRetirement) Reports() []controller.Report                 { return f.reports }
func (f *fakeRetirement) CleanupBlockers() []controller.CleanupBlocker { return f.blockers }

func missing(id string) controller.PolicyError {
	return controller.PolicyError{Policy: id, Reason: v1alpha1.ReasonServiceAccountMissing, Message: "no account"}
}

// team is a policy of a namespace.
func team() *policy.Program {
	program := webPolicy()
	program.Namespace, program.Label = "team", "team.web"
	return program
}

// TestAwait: how long a cleanup waits, and what for.
func TestAwait(t *testing.T) {
	other := webPolicy()
	other.Name, other.Label = "other", "other"
	left := map[string]int{"team/web": 1}
	for name, tc := range map[string]struct {
		reason  string
		state   fakeRetirement
		timeout time.Duration
		// change is what becomes of the controller after a second.
		change func(*fakeRetirement)
		done   bool
		took   time.Duration
	}{
		"Done":     {reason: "Nothing is left.", timeout: time.Minute, done: true},
		"Soon":     {reason: "It waits for what is left.", state: fakeRetirement{left: left}, timeout: time.Minute, change: func(f *fakeRetirement) { f.left = nil }, done: true, took: time.Second},
		"Never":    {reason: "A right may come until the time is over.", state: fakeRetirement{left: left, errors: []controller.PolicyError{{Policy: "team/web", Reason: v1alpha1.ReasonForbidden}}}, timeout: time.Minute, took: time.Minute},
		"Hopeless": {reason: "Nobody may act: it waits for a moment only.", state: fakeRetirement{left: left, errors: []controller.PolicyError{missing("team/web")}}, timeout: time.Minute, took: hopelessTime},
		"Endless":  {reason: "Without a timeout the account may come, too.", state: fakeRetirement{left: left, errors: []controller.PolicyError{missing("team/web")}}, took: 2 * time.Minute},
		"Mended":   {reason: "When the account comes back it goes on.", state: fakeRetirement{left: left, errors: []controller.PolicyError{missing("team/web")}}, timeout: time.Minute, change: func(f *fakeRetirement) { f.errors = nil }, took: time.Minute},
		"Other":    {reason: "Something comes of waiting for another policy.", state: fakeRetirement{left: map[string]int{"team/web": 1, "other": 1}, errors: []controller.PolicyError{missing("team/web")}}, timeout: time.Minute, took: time.Minute},
		"Finished": {reason: "A policy that is done is not waited for.", state: fakeRetirement{left: left, errors: []controller.PolicyError{missing("other"), missing("team/web")}}, timeout: time.Minute, took: hopelessTime},
		"Unseen":   {reason: "Where owners can be seen nowhere, that none is seen says nothing.", state: fakeRetirement{reports: []controller.Report{{Nowhere: true}}}, timeout: time.Minute, took: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, f := time.Now(), tc.state
				f.asked = func() {
					if tc.change != nil && time.Since(start) >= time.Second {
						tc.change(&f)
					}
				}
				limit := tc.timeout
				if limit == 0 {
					limit = 2 * time.Minute // the user loses patience
				}
				ctx, stop := context.WithTimeout(t.Context(), limit)
				defer stop()
				c := Cleanup{Programs: []*policy.Program{team(), other}, Timeout: tc.timeout, Progress: func(Progress) {}}
				done := c.awaitEnd(ctx, &f)
				if took := time.Since(start).Round(pollInterval); done != tc.done || took != tc.took {
					t.Errorf("%s It returns %t after %s, want %t after %s", tc.reason, done, took, tc.done, tc.took)
				}
			})
		})
	}
}

// TestAwaitProgress: what is about to be the result is not reported as progress.
func TestAwaitProgress(t *testing.T) {
	blocked := []Finding{{Policy: "team.web", Why: "ServiceAccountMissing: no account; create it, or use --as-caller: `ambit cleanup` then acts as you"}}
	for name, tc := range map[string]struct {
		reason string
		errors []controller.PolicyError
		want   Progress
	}{
		"Working":  {"How much is left.", nil, Progress{Left: 2}},
		"Hopeless": {"It ends soon.", []controller.PolicyError{missing("team/web")}, Progress{Left: 2, Blocked: blocked, Final: true}},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, stop := context.WithCancel(t.Context())
			stop()
			var got []Progress
			c := Cleanup{Programs: []*policy.Program{team()}, Timeout: time.Minute, Progress: func(p Progress) { got = append(got, p) }}
			c.awaitEnd(ctx, &fakeRetirement{left: map[string]int{"team/web": 2}, errors: tc.errors})
			if diff := cmp.Diff([]Progress{tc.want}, got); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestBlockers(t *testing.T) {
	denied := func(verb, resource, namespace string) controller.Denial {
		return controller.Denial{Policy: "team/web", DeniedAccess: v1alpha1.DeniedAccess{Verb: verb, Group: "apps", Resource: resource, Namespace: namespace}}
	}
	for name, tc := range map[string]struct {
		reason string
		state  fakeRetirement
		want   []string
	}{
		"Missing": {"An account can be made.", fakeRetirement{errors: []controller.PolicyError{missing("team/web")}},
			[]string{"policy \"team.web\": ServiceAccountMissing: no account; create it, or use --as-caller: `ambit cleanup` then acts as you"}},
		"Refused": {"A right can be granted.", fakeRetirement{errors: []controller.PolicyError{{Policy: "team/web", Reason: v1alpha1.ReasonImpersonationRefused, Message: "no right"}}},
			[]string{"policy \"team.web\": ImpersonationRefused: no right; grant that, or use --as-caller: `ambit cleanup` then acts as you"}},
		"Kind": {"Nothing is to be advised on others.", fakeRetirement{errors: []controller.PolicyError{{Policy: "team/web", Reason: v1alpha1.ReasonKindMissing, Message: "no kind"}}},
			[]string{`policy "team.web": KindMissing: no kind`}},
		"Owner": {"An owner has the policy's kind.", fakeRetirement{blockers: []controller.CleanupBlocker{{Policy: "team/web", Namespace: "a", Name: "b", Reason: "Protected", Message: "in use"}}},
			[]string{`policy "team.web": App a/b: Protected: in use`}},
		"Denied": {"Nothing is created.", fakeRetirement{reports: []controller.Report{{Denied: []controller.Denial{denied("create", "deployments", "a"), denied("delete", "deployments", "a"), denied("list", "deployments", "")}}}},
			[]string{`policy "team.web": Forbidden: cannot delete deployments.apps in namespace "a"`, `policy "team.web": Forbidden: cannot list deployments.apps`}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cleanup{Programs: []*policy.Program{team()}}
			if diff := cmp.Diff(tc.want, lines(c.blockersOf(&tc.state))); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}

func TestWhatIsLeft(t *testing.T) {
	protected := Finding{Policy: "web", Kind: "App", Namespace: "team-a", Name: "shop", Why: "Protected: in use"}
	whole := Finding{Policy: "web", Why: "Forbidden: cannot delete configmaps"}
	for name, tc := range map[string]struct {
		reason   string
		objects  []*metav1.PartialObjectMetadata
		blockers []Finding
		want     []string
	}{
		"Once": {"What is in the way says more than that the owner is there.", everything()[:1], []Finding{protected}, []string{protected.String()}},
		"Both": {"What is about the policy hides no object.", everything()[:1], []Finding{whole}, []string{whole.String(), `policy "web": App team-a/shop: it still has finalizer ambit.dev/cleanup, annotation ambit.dev/children`}},
		"None": {"Not done and nothing left contradict each other.", nil, nil, []string{`policy "web": it is not known whether something is left: it could not be read in time`}},
	} {
		t.Run(name, func(t *testing.T) {
			c := Cleanup{Programs: []*policy.Program{webPolicy()}, Scan: newFakeCluster(t, tc.objects...).scan()}
			if diff := cmp.Diff(tc.want, lines(c.whatIsLeft(t.Context(), tc.blockers))); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
