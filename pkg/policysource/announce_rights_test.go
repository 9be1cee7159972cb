package policysource

import (
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// TestAnnounceRights: that rights are missing is said when it begins and when it is over,
// and not when the policy is not ready for that reason, or more is to be known.
func TestAnnounceRights(t *testing.T) {
	serving, syncing := condition{isTrue, v1alpha1.ReasonServing, ""}, condition{isFalse, v1alpha1.ReasonSyncing, "wait"}
	nowhere := condition{isFalse, v1alpha1.ReasonForbidden, "no pods"}
	has, lacks, none := condition{isTrue, v1alpha1.ReasonPermitted, ""}, condition{isFalse, v1alpha1.ReasonForbidden, "no pods"}, condition{}
	const lost, back = `"level"=0 "msg"="policy lacks rights" "policy"="p" "origin"="a.yaml" "message"="no pods"`, `"level"=0 "msg"="policy has the rights again that it lacked" "policy"="p" "origin"="a.yaml"`
	for name, c := range map[string]struct {
		reason string
		steps  [][2]condition // ready, permitted
		want   []string
	}{
		"Never":   {reason: "there is nothing to say", steps: [][2]condition{{syncing, has}, {serving, has}}},
		"Lost":    {reason: "once for each change", steps: [][2]condition{{serving, has}, {serving, lacks}, {serving, lacks}, {serving, has}, {serving, has}}, want: []string{lost, back}},
		"Version": {reason: "a new version knows nothing at first", steps: [][2]condition{{serving, lacks}, {syncing, has}, {serving, none}, {serving, lacks}}, want: []string{lost}},
		"Flaps": {reason: "after four changes it is said no more for a while", steps: [][2]condition{
			{serving, lacks}, {serving, has}, {serving, lacks}, {serving, has}, {serving, lacks}, {serving, has}, {serving, lacks},
		}, want: []string{lost, back, lost, back, lost}},
		"Nowhere": {reason: "that it is not ready says it", steps: [][2]condition{{serving, has}, {nowhere, lacks}, {serving, has}}, want: []string{back}},
	} {
		t.Run(name, func(t *testing.T) {
			var log []string
			now := clocktesting.NewFakeClock(time.Unix(1000000, 0))
			s := newSecretary(Options{Clock: now, Logger: funcr.New(func(_, args string) { log = append(log, args) }, funcr.Options{})}, nil)
			d := document{entryKey: entryKey{origin: Origin{Kind: File, File: "a.yaml"}, name: "p"}}
			for i, step := range c.steps {
				if i == 6 {
					now.Step(rapidTime)
				}
				s.announceRights(d, said{ready: step[0], permitted: step[1]})
			}
			if diff := cmp.Diff(c.want, log); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
