package controller

import (
	"slices"

	"github.com/ambit-dev/ambit/pkg/access"
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
func (op *policyController) tellRights(namespace string, a *permissionRequest, r *permissions) {
	if !r.reviewed || op.replaced.Load() {
		return
	}
	op.logNarrowed(namespace, r)
	op.mu.Lock()
	now, was := r.requiredText(), a.logged
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
