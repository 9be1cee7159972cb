package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

const quietPoliciesUser = "quiet-policies"

// TestPoliciesQuiet: one Ambit with all policies of policies/, all samples of examples/
// served, asks the API server for nothing. Started again, it writes
// nothing, reads no object by its name, and soon asks for
// nothing. It sees owners cluster-wide and so runs alone.
func TestPoliciesQuiet(t *testing.T) {
	w := newWorld(t, quietPoliciesUser)
	w.alone()
	names := append(policyNames(), "memcached")
	programs := w.allPolicies(names)
	// With this nothing is denied; a denied right is asked for now and then.
	w.grantEverywhere("watch-rbac", rightsToWatchRBAC())
	w.decided("", true, rightsToWatchRBAC())
	a := w.runMeasured(nil, programs...)
	all := &together{world: w}
	all.makeSamples(names)
	all.served()

	mark := w.settled()
	w.patiently(*steady)
	w.noRequests(mark, "in the steady state", func(r cluster.Request) bool { return !r.IsWatch() })

	a.stop()
	w.openStreams(map[string]int{})
	mark = w.control.Audit().Mark()
	began := time.Now()
	a = w.runMeasured(nil, programs...)
	w.watchesOwners(mark, programs)
	rest := w.settledSince(mark)
	t.Logf("at rest %s after the start", time.Since(began).Round(time.Second))
	w.noRequests(mark, "after a restart", isStoryWrite)
	w.noRequests(mark, "for a single object after a restart", func(r cluster.Request) bool { return r.Verb == "get" && r.Resource != "" })
	w.noRequests(rest, "at rest after a restart", func(r cluster.Request) bool { return !r.IsWatch() })
	w.tellReads(mark)
	all.remove()
	a.stop()
}

// allPolicies makes the kinds of these policies and gives the rights that they need.
func (w *world) allPolicies(names []string) []*policy.Program {
	w.t.Helper()
	// What the ClusterRoles of crd-roles allow: nobody can hand out what they do not have.
	widgets := rightsTo("shop.example.com", "widgets")
	widgets.Verbs = append(widgets.Verbs, "update", "deletecollection")
	w.grantEverywhere("hands-out", widgets)
	var programs []*policy.Program
	for _, name := range names {
		s := &policyStory{world: w, name: name}
		s.applyExample("crd.yaml")
		s.giveRights(nil)
		programs = append(programs, program(w.t, name+".yaml", read(w.t, "../../policies/"+name+".yaml")))
	}
	return programs
}

// watchesOwners waits until a watch is open of each kind of owners.
func (w *world) watchesOwners(mark cluster.Mark, programs []*policy.Program) {
	w.t.Helper()
	for _, p := range programs {
		guessed, _ := meta.UnsafeGuessKindToResource(p.Owner.GVK) // what the examples call theirs
		resource := guessed.Resource
		w.eventually("Ambit watches "+resource, func(context.Context) error {
			if !slices.ContainsFunc(w.since(mark, cluster.Request.IsWatchOpened), func(r cluster.Request) bool { return r.Resource == resource }) {
				return fmt.Errorf("no watch is open")
			}
			return nil
		})
	}
}

// tellReads prints what was asked for, by verb and resource.
func (w *world) tellReads(mark cluster.Mark) {
	w.t.Helper()
	counts := map[string]int{}
	for _, r := range w.since(mark, func(r cluster.Request) bool { return !r.IsWatchClosed() }) {
		counts[r.Verb+" "+r.Resource]++
	}
	w.t.Logf("requests since the start: %v", counts)
}
