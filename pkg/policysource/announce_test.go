package policysource

import (
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestAnnounce: what is said again is not logged again, nor what every version goes
// through; another mistake is.
func TestAnnounce(t *testing.T) {
	var log []string
	s := newSecretary(Options{Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})}, nil)
	d := document{entryKey: entryKey{origin: Origin{Kind: File, File: "a.yaml"}, name: "p"}}
	serving := condition{isTrue, v1alpha1.ReasonServing, ""}
	syncing := condition{isFalse, v1alpha1.ReasonSyncing, "wait"}
	broken := condition{isFalse, v1alpha1.ReasonInvalid, "bad"}
	for _, step := range []struct {
		ready   condition
		mistake string
	}{
		{ready: syncing}, {ready: serving}, {ready: serving}, {ready: syncing}, {ready: serving},
		{ready: broken, mistake: "a"}, {ready: broken, mistake: "a"}, {ready: broken, mistake: "b"}, {ready: syncing}, {ready: serving},
	} {
		s.announce(d, said{valid: condition{isFalse, v1alpha1.ReasonInvalid, step.mistake}, ready: step.ready})
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
	s := newSecretary(Options{Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})}, nil)
	d := document{entryKey: entryKey{origin: Origin{Kind: CustomResource, Namespace: "team", Name: "p"}, name: "p"}, deleting: true, retiring: true}
	denied := &Report{Denied: []v1alpha1.DeniedAccess{{Verb: "delete", Resource: "apps", Message: "cannot delete apps"}}}
	for _, step := range []struct {
		report *Report
		left   int
	}{
		{left: 0}, {left: 2}, {report: denied, left: 2}, {report: denied, left: 1}, {left: 1},
	} {
		s.announce(d, say(d, step.report, step.left))
	}
	const line = `"level"=0 "msg"="policy is not ready" "policy"="p" "origin"="reconcilepolicy team/p" "reason"="Deleting" "message"="the policy was deleted, and `
	want := []string{line + `is cleaning up"`, line + `cannot clean up: cannot delete apps"`, line + `is cleaning up: 1 left"`}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
