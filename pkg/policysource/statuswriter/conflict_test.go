package statuswriter

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/sim"
)

// serving is the report of what serves.
func serving(ids ...string) (list fakeReporter) {
	for _, id := range ids {
		list = append(list, policystatus.Report{Policy: id, Serving: true})
	}
	return list
}

// TestFinalizerConflict: a finalizer is never written over somebody else's, is tried again when that is seen, and the status follows
// it at once.
func TestFinalizerConflict(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, resources, _ := newCluster(t, sim.Options{})
		p := c.createPolicy("p")
		p.AwaitsFinalizer = true
		resources.see()
		c.patch(policyResource, "p", `{"metadata":{"finalizers":["example.com/other"]}}`)
		c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}})
		if sent := c.pass(); !slices.Equal(sent, []string{"p"}) {
			t.Errorf("it sent %q", sent)
		}
		if got := c.get(policyResource, "p").GetFinalizers(); !slices.Equal(got, []string{"example.com/other"}) {
			t.Errorf("the finalizers are %q", got)
		}
		resources.see()
		if sent := c.pass(); len(sent) > 0 {
			t.Errorf("it does not wait after a failure: %q", sent)
		}
		time.Sleep(transientDebounce) // a status would be due as well
		if sent := c.pass(); !slices.Equal(sent, []string{"p"}) {
			t.Errorf("with the finalizer it sent %q", sent)
		}
		if got := c.get(policyResource, "p").GetFinalizers(); !slices.Equal(got, []string{"example.com/other", "ambit.dev/cleanup"}) {
			t.Errorf("the finalizers are %q", got)
		}
		if slices.ContainsFunc(c.log, func(line string) bool { return strings.Contains(line, "written") }) {
			t.Errorf("a conflict is logged: %q", c.log)
		}
		resources.see()
		p.AwaitsFinalizer = false
		c.report(serving("team/p"))
		c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}})
		if sent := c.pass(); !slices.Equal(sent, []string{"p status"}) {
			t.Errorf("after the finalizer it sent %q", sent)
		}
	})
}

// TestFinalizerRefused: a finalizer that is refused does not hold up the status, and is tried again until it is accepted.
func TestFinalizerRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		isGuarded := true
		c, resources, _ := newCluster(t, sim.Options{Admission: func(r *sim.Review) error {
			if isGuarded && r.Request.User == ambitUser && r.Request.Subresource == "" {
				return sim.Denied("guard.example.com", "no finalizers today")
			}
			return nil
		}})
		p := c.createPolicy("p")
		p.AwaitsFinalizer = true
		c.report(serving("team/p"))
		c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}})
		counts := map[string]int{}
		for range 120 {
			resources.see()
			for _, sent := range c.pass() {
				counts[sent]++
			}
			time.Sleep(WriteInterval)
		}
		if diff := cmp.Diff(map[string]int{"p": 8, "p status": 1}, counts); diff != "" {
			t.Errorf("in two minutes it sent (-want +got):\n%s", diff)
		}
		isGuarded = false
		time.Sleep(maxBackoff)
		resources.see()
		c.pass()
		if got := c.get(policyResource, "p").GetFinalizers(); !slices.Equal(got, []string{"ambit.dev/cleanup"}) {
			t.Errorf("the finalizers are %q", got)
		}
		refusals := slices.DeleteFunc(slices.Clone(c.log), func(line string) bool { return !strings.Contains(line, "refuses to have it written") })
		if len(refusals) != 1 {
			t.Errorf("it is logged %d times: %q", len(refusals), c.log)
		}
	})
}

// TestOutdated: on what is not the object of the decision any more nothing is written: one that is gone, one that was made anew, one
// that was edited since.
func TestOutdated(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		change func(*cluster)
		isSeen bool // before the pass
		want   []string
	}{
		"Same":         {reason: "nothing has changed", change: func(*cluster) {}, isSeen: true, want: []string{"p status"}},
		"Edited":       {reason: "the status is one of an older version", change: func(c *cluster) { c.patch(policyResource, "p", `{"spec":{"suspend":true}}`) }, isSeen: true},
		"MadeAnew":     {reason: "it is another policy", change: func(c *cluster) { c.remove(policyResource, "p"); c.createPolicy("p") }, isSeen: true},
		"Deleted":      {reason: "it is gone", change: func(c *cluster) { c.remove(policyResource, "p") }, isSeen: true},
		"MadeAnewLate": {reason: "it is made anew while its status is written: the other one has not got it", change: func(c *cluster) { c.remove(policyResource, "p"); c.createPolicy("p") }, want: []string{"p status"}},
		"DeletedLate":  {reason: "it goes while its status is written: what is seen next decides", change: func(c *cluster) { c.remove(policyResource, "p") }, want: []string{"p status"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, resources, _ := newCluster(t, sim.Options{})
				p := s.createPolicy("p")
				s.report(serving("team/p"))
				resources.see()
				c.change(s)
				if c.isSeen {
					resources.see()
				}
				s.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}})
				if diff := cmp.Diff(c.want, s.pass()); diff != "" {
					t.Errorf("%s: it sent (-want +got):\n%s", c.reason, diff)
				}
				resources.see()
				if object := resources.FindObject(p.Origin); object != nil && string(object.GetUID()) != p.UID && object.Object["status"] != nil {
					t.Errorf("%s: the other one says %v", c.reason, object.Object["status"])
				}
				time.Sleep(maxBackoff)
				if sent := s.pass(); len(sent) > 0 {
					t.Errorf("%s: it sent %q afterwards", c.reason, sent)
				}
				for _, line := range s.log {
					if strings.Contains(line, "written") {
						t.Errorf("%s: it is logged: %s", c.reason, line)
					}
				}
			})
		})
	}
}

// answers are Faults that answer the writes of Ambit of some objects with an error, before or after they are done.
type answers struct {
	before, after map[string]error
}

func (a answers) Before(_ context.Context, r sim.Request) error {
	if r.User != ambitUser {
		return nil
	}
	return a.before[r.Name]
}

func (a answers) After(_ context.Context, r sim.Request, answer error) error {
	if err := a.after[r.Name]; err != nil && r.User == ambitUser {
		return err
	}
	return answer
}

func (a answers) Stream(sim.Request) sim.Stream { return nil }

// TestRefusedWrites: what is refused is tried again less and less often, holds up no other policy, and is said once if
// somebody has to act.
func TestRefusedWrites(t *testing.T) {
	forbidden := apierrors.NewForbidden(policyResource.GroupResource(), "bad", nil)
	for name, c := range map[string]struct {
		reason   string
		err      error
		attempts int // in two minutes
		logged   bool
		others   int // passes until the other policy is written
	}{
		"Forbidden":   {reason: "a right is missing", err: forbidden, attempts: 8, logged: true, others: 1},
		"Unavailable": {reason: "it answers, so that others may be written", err: apierrors.NewServiceUnavailable("down"), attempts: 8, others: 1},
		"Conflict":    {reason: "somebody else writes all the time", err: apierrors.NewConflict(policyResource.GroupResource(), "bad", nil), attempts: 8, others: 1},
		"Unreachable": {reason: "no answer comes: the rest is left to the next pass in which this one waits", err: errors.New("connection refused"), attempts: 8, others: 3},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, resources, _ := newCluster(t, sim.Options{Faults: answers{before: map[string]error{"bad": c.err}}})
				bad, good := s.createPolicy("bad"), s.createPolicy("good")
				s.report(serving("team/bad", "team/good"))
				resources.see()
				s.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{bad, good}})
				passes := 0
				for range 120 {
					sent := s.pass()
					if passes++; slices.Contains(sent, "good status") && passes != c.others {
						t.Errorf("%s: the other one is written in pass %d", c.reason, passes)
					}
					resources.see()
					time.Sleep(WriteInterval)
				}
				attempts, written := 0, 0
				for _, patch := range s.patches {
					if patch == "bad status" {
						attempts++
					} else {
						written++
					}
				}
				if attempts != c.attempts || written != 1 {
					t.Errorf("%s: %d attempts, want %d; the other one is written %d times", c.reason, attempts, c.attempts, written)
				}
				isLogged := slices.ContainsFunc(s.log, func(line string) bool {
					return strings.Contains(line, "refuses to have it written") && strings.Contains(line, `"name"="bad" "resource"="reconcilepolicies"`)
				})
				if isLogged != c.logged {
					t.Errorf("%s: the log is %q", c.reason, s.log)
				}
			})
		})
	}
}

// TestLostAnswer: a write whose answer was lost is not sent again when its effect is seen.
func TestLostAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, resources, _ := newCluster(t, sim.Options{Faults: answers{after: map[string]error{"p": errors.New("connection reset")}}})
		p := c.createPolicy("p")
		c.report(serving("team/p"))
		resources.see()
		c.writer.TakeDecision(registry.Decision{Policies: []registry.PolicyState{p}})
		c.pass()
		resources.see()
		for range 60 {
			time.Sleep(WriteInterval)
			c.pass()
		}
		if len(c.patches) != 1 {
			t.Errorf("it was sent %d times", len(c.patches))
		}
	})
}
