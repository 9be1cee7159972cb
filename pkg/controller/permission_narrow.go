package controller

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// narrowPermissions is what is missing of the rights about all namespaces to watch in all of them
// together, of a policy that asks for that. It is required of nobody: each namespace is
// then watched by itself.
func (op *policyController) narrowPermissions(place string, r *permissions) *permissions {
	missed := &permissions{reviewed: r.reviewed}
	if place != allNamespaces || op.program.Informers != v1alpha1.InformersCluster {
		return missed
	}
	for _, m := range r.missing {
		if m.optional {
			reads := slices.DeleteFunc(slices.Clone(m.verbs), func(verb string) bool { return !isReading(verb) })
			missed.addMissing(op, place, m, reads, false)
		}
	}
	return missed
}

// logNarrowed logs that a policy that asks for cluster-wide streams does not get them,
// or gets them now.
func (op *policyController) logNarrowed(place string, r *permissions) {
	if place != allNamespaces {
		return
	}
	now := op.narrowPermissions(place, r).requiredText()
	op.mu.Lock()
	was := op.loggedNarrow
	op.loggedNarrow = now
	op.mu.Unlock()
	log := op.controller.options.Logger.WithValues("policy", op.id)
	switch {
	case now == was:
	case now == "":
		log.Info("permissions for cluster-wide watches are complete")
	default:
		log.Info("permissions for cluster-wide watches are missing: namespaces are watched one by one", "missing", now)
	}
}
