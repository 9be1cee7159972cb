package controller

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// narrowed is what is missing of the rights about all namespaces to watch in all of them
// together, of a policy that asks for that. It is required of nobody: each namespace is
// then watched by itself.
func (op *operator) narrowed(place string, r *rights) *rights {
	missed := &rights{reviewed: r.reviewed}
	if place != allNamespaces || op.program.Informers != v1alpha1.InformersCluster {
		return missed
	}
	for _, m := range r.missing {
		if m.optional {
			reads := slices.DeleteFunc(slices.Clone(m.verbs), func(verb string) bool { return !isReading(verb) })
			missed.add(op, place, m, reads, false)
		}
	}
	return missed
}

// tellNarrowed logs that a policy that asks for cluster-wide streams does not get them,
// or gets them now.
func (op *operator) tellNarrowed(place string, r *rights) {
	if place != allNamespaces {
		return
	}
	now := op.narrowed(place, r).requiredText()
	op.mu.Lock()
	was := op.narrow
	op.narrow = now
	op.mu.Unlock()
	log := op.engine.options.Logger.WithValues("policy", op.id)
	switch {
	case now == was:
	case now == "":
		log.Info("permissions for cluster-wide watches are complete")
	default:
		log.Info("permissions for cluster-wide watches are missing: namespaces are watched one by one", "missing", now)
	}
}
