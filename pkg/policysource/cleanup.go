package policysource

import (
	"maps"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
)

// abandonAfter is how long a cleanup that is blocked waits for its ServiceAccount or for permissions to come
// back. Giving up is for good, so that it takes longer than where a command is waited for.
const abandonAfter = 10 * time.Second

// checkCleanups asks the controller about the policies that it cleans up after. If one is finished, or is
// abandoned, it returns a new decision, which is applied; else d.
func (s *Source) checkCleanups(d registry.Decision, now time.Time) registry.Decision {
	if len(s.handover.retire) == 0 {
		clear(s.blockedSince)
		return d
	}
	isAny, reports := false, s.reportsByID()
	maps.DeleteFunc(s.blockedSince, func(id string, _ time.Time) bool { return !s.handover.isRetiring(id) })
	for _, p := range s.handover.retire {
		id := registry.ProgramID(p)
		if !hasProgram(d.Retire, id) {
			continue // it is finished, and the controller has refused what was decided then
		}
		left, done := s.o.Controller.RetiredOf(id)
		switch r := reports[id]; {
		case done && !r.Nowhere: // where owners can be seen nowhere, that none is seen says nothing
			s.o.Logger.Info(describeEnd(p)+", and all is cleaned up", "policy", id)
			s.registry.FinishCleanup(id, "")
		case s.isAbandoned(id, s.isCleanupBlocked(p, r, left), now):
			why := policystatus.WhyCleanupBlocked(r)
			s.o.Logger.Info(describeEnd(p)+", and nobody can clean up after it: `ambit leftovers` shows what it may have left", "policy", id, "message", why)
			s.registry.FinishCleanup(id, why)
		default:
			continue
		}
		isAny = true
	}
	if !isAny {
		return d
	}
	d = s.registry.DecidePolicies(now)
	s.noteOwners(d)
	s.handover.applyDecision(d, now)
	return d
}

// describeEnd returns why a policy is cleaned up after.
func describeEnd(p *policy.Program) string {
	if p.Retire {
		return "a policy is retired by spec.retire"
	}
	return "a policy was deleted"
}

func (s *Source) reportsByID() map[string]policystatus.Report {
	byID := map[string]policystatus.Report{}
	for _, r := range s.o.Controller.Reports() {
		byID[r.Policy] = r
	}
	return byID
}

// noteOwners records whether policies that are about to be cleaned up after have owners, as long as
// owners are seen.
func (s *Source) noteOwners(d registry.Decision) {
	var reports map[string]policystatus.Report
	for _, p := range d.Retire {
		id := registry.ProgramID(p)
		if s.handover.isRetiring(id) {
			continue
		}
		if reports == nil {
			reports = s.reportsByID()
		}
		if reports[id].OwnerCount() > 0 {
			s.registry.NoteOwners(id)
		}
	}
}

// isCleanupBlocked reports whether nobody can clean up after a policy as things are, and it is not to wait for
// ever. Either nobody may act as its account, as where its namespace is deleted with accounts and bindings
// first. Or it may not look for owners, and was never seen to have any.
func (s *Source) isCleanupBlocked(p *policy.Program, r policystatus.Report, left int) bool {
	switch {
	case r.PolicyError == nil:
		return r.Nowhere && left == 0 && s.registry.MayAbandon(registry.ProgramID(p))
	case v1alpha1.IsAccountReason(r.PolicyError.Reason), policystatus.LacksAccount(p, r):
		return true
	}
	return r.PolicyError.Reason == v1alpha1.ReasonForbidden && left == 0 && s.registry.MayAbandon(registry.ProgramID(p))
}

// isAbandoned reports whether the cleanup after a policy has been blocked for long enough.
func (s *Source) isAbandoned(id string, blocked bool, now time.Time) bool {
	since, waits := s.blockedSince[id]
	switch {
	case !blocked:
		delete(s.blockedSince, id)
	case !waits:
		s.blockedSince[id] = now
	case now.Sub(since) >= abandonAfter:
		delete(s.blockedSince, id)
		return true
	}
	return false
}
