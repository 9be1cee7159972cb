package controller

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
)

// reportDenied asks for a review because a request was refused in a namespace: of the
// place that said it would not be.
func (op *policyController) reportDenied(namespace string, a access.Access) {
	if r, ok := op.currentPermissions(allNamespaces); ok && op.hasAll(r) {
		namespace = allNamespaces
	}
	op.mu.Lock()
	if asked, ok := op.permissionRequests[namespace]; ok {
		asked.doubted = true
	}
	op.mu.Unlock()
	op.controller.options.Access.ReportDenied(access.Key{Identity: op.identity, Namespace: namespace}, a)
}

// tellRights logs that rights went missing or came back. A namespace that nobody has
// named, and in which no owner was ever seen, is not worth a line.
func (op *policyController) tellRights(namespace string, a *permissionRequest, r *permissionset.Set) {
	if !r.Reviewed || op.replaced.Load() {
		return
	}
	op.logNarrowed(namespace, r)
	op.mu.Lock()
	now, was := r.RequiredText(), a.logged
	whole := a.extent != toSee
	if now == "" || was == "" || whole {
		a.logged = now
	}
	known := whole || op.servedNamespaces[namespace] || slices.Contains(op.scope.NamedNamespaces(), namespace)
	op.mu.Unlock()
	log := op.controller.options.Logger.WithValues("policy", op.id, "namespace", namespace)
	if !known {
		log = log.V(1)
	}
	switch {
	case now == was:
	case now == "" && whole:
		log.Info("permissions are complete")
	case now == "":
		log.Info("owners may be watched again")
	case whole || was == "": // else it is less than what was said before
		log.Info("permissions are missing", "missing", now)
	}
}

// narrowPermissions is what is missing of the rights about all namespaces to watch in all of them
// together, of a policy that asks for that. It is required of nobody: each namespace is
// then watched by itself.
func (op *policyController) narrowPermissions(place string, r *permissionset.Set) *permissionset.Set {
	missed := &permissionset.Set{Reviewed: r.Reviewed}
	if place != allNamespaces || op.program.Informers != v1alpha1.InformersCluster {
		return missed
	}
	for _, m := range r.Missing {
		if m.Optional {
			reads := slices.DeleteFunc(slices.Clone(m.Verbs), func(verb string) bool { return !isReading(verb) })
			missed.AddMissing(op.placeFor(place), m, reads, false)
		}
	}
	return missed
}

// logNarrowed logs that a policy that asks for cluster-wide streams does not get them,
// or gets them now.
func (op *policyController) logNarrowed(place string, r *permissionset.Set) {
	if place != allNamespaces {
		return
	}
	now := op.narrowPermissions(place, r).RequiredText()
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
