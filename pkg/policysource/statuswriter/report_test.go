package statuswriter

import (
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

func condition(status, reason, message string) policystatus.Condition {
	return policystatus.Condition{Status: status, Reason: reason, Message: message}
}

// TestAnnounce: what is said again is not logged again, nor what every version goes
// through; another mistake is.
func TestAnnounce(t *testing.T) {
	var log []string
	s := New(Options{Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})})
	d := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.File, File: "a.yaml"}, Name: "p"}}
	serving := condition(policystatus.True, v1alpha1.ReasonServing, "")
	syncing := condition(policystatus.False, v1alpha1.ReasonSyncing, "wait")
	broken := condition(policystatus.False, v1alpha1.ReasonInvalid, "bad")
	for _, step := range []struct {
		ready   policystatus.Condition
		mistake string
	}{
		{ready: syncing}, {ready: serving}, {ready: serving}, {ready: syncing}, {ready: serving},
		{ready: broken, mistake: "a"}, {ready: broken, mistake: "a"}, {ready: broken, mistake: "b"}, {ready: syncing}, {ready: serving},
	} {
		s.reporter.reportReady(d, policystatus.Status{Valid: condition(policystatus.False, v1alpha1.ReasonInvalid, step.mistake), Ready: step.ready})
	}
	want := []string{
		`"level"=0 "msg"="policy is ready" "policy"="p" "origin"="a.yaml" "reason"="Serving"`,
		`"level"=0 "msg"="policy is not ready" "policy"="p" "origin"="a.yaml" "reason"="Invalid" "message"="bad: a"`,
		`"level"=0 "msg"="policy is not ready" "policy"="p" "origin"="a.yaml" "reason"="Invalid" "message"="bad: b"`,
		`"level"=0 "msg"="policy is ready" "policy"="p" "origin"="a.yaml" "reason"="Serving"`,
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnnounceStuck: that cleaning up cannot go on is said once, and that it goes on.
func TestAnnounceStuck(t *testing.T) {
	var log []string
	s := New(Options{Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})})
	d := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.CustomResource, Namespace: "team", Name: "p"}, Name: "p"}, Deleting: true, Retiring: true}
	denied := &policystatus.Report{Denied: []v1alpha1.DeniedAccess{{Verb: "delete", Resource: "apps", Message: "cannot delete apps"}}}
	for _, step := range []struct {
		report *policystatus.Report
		left   int
	}{
		{left: 0}, {left: 2}, {report: denied, left: 2}, {report: denied, left: 1}, {left: 1},
	} {
		s.reporter.reportReady(d, policystatus.StatusOf(d, step.report, step.left))
	}
	const line = `"level"=0 "msg"="policy is not ready" "policy"="p" "origin"="reconcilepolicy team/p" "reason"="Deleting" "message"="the policy was deleted, and `
	want := []string{line + `is cleaning up"`, line + `cannot clean up: cannot delete apps"`, line + `is cleaning up: 1 left"`}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestAnnounceRights: that rights are missing is said when it begins and when it is over,
// and not when the policy is not ready for that reason, or more is to be known.
func TestAnnounceRights(t *testing.T) {
	serving, syncing := condition(policystatus.True, v1alpha1.ReasonServing, ""), condition(policystatus.False, v1alpha1.ReasonSyncing, "wait")
	nowhere := condition(policystatus.False, v1alpha1.ReasonForbidden, "no pods")
	has, lacks, none := condition(policystatus.True, v1alpha1.ReasonPermitted, ""), condition(policystatus.False, v1alpha1.ReasonForbidden, "no pods"), policystatus.Condition{}
	const lost, back = `"level"=0 "msg"="policy lacks rights" "policy"="p" "origin"="a.yaml" "message"="no pods"`, `"level"=0 "msg"="policy has the rights again that it lacked" "policy"="p" "origin"="a.yaml"`
	for name, c := range map[string]struct {
		reason string
		steps  [][2]policystatus.Condition // ready, permitted
		want   []string
	}{
		"Never":   {reason: "there is nothing to say", steps: [][2]policystatus.Condition{{syncing, has}, {serving, has}}},
		"Lost":    {reason: "once for each change", steps: [][2]policystatus.Condition{{serving, has}, {serving, lacks}, {serving, lacks}, {serving, has}, {serving, has}}, want: []string{lost, back}},
		"Version": {reason: "a new version knows nothing at first", steps: [][2]policystatus.Condition{{serving, lacks}, {syncing, has}, {serving, none}, {serving, lacks}}, want: []string{lost}},
		"Flaps": {reason: "after four changes it is said no more for a while", steps: [][2]policystatus.Condition{
			{serving, lacks}, {serving, has}, {serving, lacks}, {serving, has}, {serving, lacks}, {serving, has}, {serving, lacks},
		}, want: []string{lost, back, lost, back, lost}},
		"Nowhere": {reason: "that it is not ready says it", steps: [][2]policystatus.Condition{{serving, has}, {nowhere, lacks}, {serving, has}}, want: []string{back}},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			now := clocktesting.NewFakeClock(time.Unix(1000000, 0))
			s := New(Options{Clock: now, Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})})
			d := registry.PolicyState{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.File, File: "a.yaml"}, Name: "p"}}
			for i, step := range c.steps {
				if i == 6 {
					now.Step(rapidInterval)
				}
				s.reporter.reportPermitted(d, policystatus.Status{Ready: step[0], Permitted: step[1]})
			}
			if diff := cmp.Diff(c.want, log); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestForgetLast: that a policy has gone is known also of the last one: another one of its
// name is another one.
func TestForgetLast(t *testing.T) {
	var log []string
	s := New(Options{Reporter: fakeReporter{{Policy: "p", Serving: true, Denied: []v1alpha1.DeniedAccess{{Verb: "list", Resource: "apps"}}}}, Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{}), Clock: clock.RealClock{}})
	there := registry.Decision{Policies: []registry.PolicyState{{Key: registry.Key{Origin: manifest.Origin{Kind: manifest.File, File: "a.yaml"}, Name: "p"}, ID: "p"}}}
	for _, d := range []registry.Decision{there, {}, there} {
		s.TakeDecision(d)
		s.writeAll(t.Context())
	}
	if len(log) != 4 {
		t.Errorf("of a policy that comes, goes and comes it is said: %q", log)
	}
	s.TakeDecision(registry.Decision{})
	s.writeAll(t.Context())
	if n := len(s.reporter.reported) + len(s.reporter.permissions); n > 0 {
		t.Errorf("it is remembered when it has gone")
	}
}
