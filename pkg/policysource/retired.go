package policysource

import (
	"maps"
	"slices"
	"time"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// hopelessTime is how long a policy that is to be cleaned up after, and cannot be, waits
// for its ServiceAccount or for rights to come back. Giving up is for good, so that it takes
// longer than where a command is waited for.
const hopelessTime = 10 * time.Second

// retired asks the engine how far it is with those that it cleans up after, and decides
// again when it is done with one, or when nothing can be done for one.
func (s *Source) retired(d decision, now time.Time) decision {
	if len(s.retire) == 0 {
		clear(s.hopeless)
		return d
	}
	finished, reports := false, s.reports()
	maps.DeleteFunc(s.hopeless, func(id string, _ time.Time) bool {
		return !slices.ContainsFunc(s.retire, func(p *policy.Program) bool { return idOf(p) == id })
	})
	for _, p := range s.retire {
		if !d.retires(idOf(p)) {
			continue // it is finished, and the engine has refused what was decided then
		}
		left, done := s.o.Controller.RetiredOf(idOf(p))
		switch r := reports[idOf(p)]; {
		case done && !r.Nowhere: // where owners can be seen nowhere, that none is seen says nothing
			s.o.Logger.Info(whyEnded(p)+", and all is cleaned up", "policy", idOf(p))
			s.book.finished(idOf(p), "")
		case s.gaveUp(idOf(p), s.isHopeless(p, r, left), now):
			why := whyHopeless(r)
			s.o.Logger.Info(whyEnded(p)+", and nobody can clean up after it: `ambit leftovers` shows what it may have left", "policy", idOf(p), "message", why)
			s.book.finished(idOf(p), why)
		default:
			continue
		}
		finished = true
	}
	if !finished {
		return d
	}
	d = s.book.decide(now)
	s.noteOwned(d)
	s.apply(d, now)
	return d
}

// whyEnded says why a policy is cleaned up after.
func whyEnded(p *policy.Program) string {
	if p.Retire {
		return "a policy is retired by spec.retire"
	}
	return "a policy was deleted"
}

// retires says whether a policy is to be cleaned up after.
func (d decision) retires(id string) bool {
	return slices.ContainsFunc(d.retire, func(p *policy.Program) bool { return idOf(p) == id })
}

func (s *Source) reports() map[string]Report {
	byID := map[string]Report{}
	for _, r := range s.o.Controller.Reports() {
		byID[r.Policy] = r
	}
	return byID
}

// noteOwned keeps of policies that are about to be cleaned up after whether they have
// owners, as long as that is seen.
func (s *Source) noteOwned(d decision) {
	before := map[string]bool{}
	for _, p := range s.retire {
		before[idOf(p)] = true
	}
	var reports map[string]Report
	for _, p := range d.retire {
		if before[idOf(p)] {
			continue
		}
		if reports == nil {
			reports = s.reports()
		}
		if reports[idOf(p)].owners() > 0 {
			s.book.hasOwners(idOf(p))
		}
	}
}

// isHopeless says whether a policy cannot be cleaned up after as things are, and is not
// to wait for ever: nobody may act as its account, as where its namespace is deleted with
// accounts and bindings first; or it may not look for owners, and was never seen to have
// any.
func (s *Source) isHopeless(p *policy.Program, r Report, left int) bool {
	switch {
	case r.PolicyError == nil:
		return r.Nowhere && left == 0 && s.book.mayLetGo(idOf(p))
	case v1alpha1.IsAccountReason(r.PolicyError.Reason), lacksAccount(p, r):
		return true
	}
	return r.PolicyError.Reason == v1alpha1.ReasonForbidden && left == 0 && s.book.mayLetGo(idOf(p))
}

// whyHopeless names the account or the right that is missing.
func whyHopeless(r Report) string {
	switch {
	case r.PolicyError != nil:
		return r.PolicyError.Message
	case len(r.Denied) > 0:
		return deniedText(r.Denied)
	}
	return "owners may not be watched in any namespace of the policy's scope"
}

// lacksAccount says whether Ambit may not see the account that a policy acts as, and so
// does nothing as it.
func lacksAccount(p *policy.Program, r Report) bool {
	return slices.ContainsFunc(r.Denied, func(a v1alpha1.DeniedAccess) bool { return isAccount(p, a) })
}

// gaveUp says whether a policy has been hopeless for long enough. Nobody else may clean
// up in its place.
func (s *Source) gaveUp(id string, hopeless bool, now time.Time) bool {
	since, waits := s.hopeless[id]
	switch {
	case !hopeless:
		delete(s.hopeless, id)
	case !waits:
		s.hopeless[id] = now
	case now.Sub(since) >= hopelessTime:
		delete(s.hopeless, id)
		return true
	}
	return false
}
