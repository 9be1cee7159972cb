package controller

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// permissionsChanged acts upon a change. What is no longer permitted is closed at once; then the
// policy and the owners that are concerned look at it anew.
func (op *policyController) permissionsChanged(c placepermissions.Change) {
	if c.IsNew {
		op.closeRevoked(c.Place, c.Now)
		if c.Place == allNamespaces {
			op.recheckNamespaces(c.Now)
		}
		op.controller.enqueue(Key{Policy: op.id})
		if c.Before != nil && c.Before.Reviewed && c.Before.String() != "" {
			op.controller.rights.CheckSoon()
		}
	}
	op.enqueueOwnersOf(c.Place)
}

// closeRevoked closes the streams that are no longer permitted.
func (op *policyController) closeRevoked(namespace string, r *permissionset.Set) {
	close := func(covers func(schema.GroupResource) bool, why string) {
		op.controller.options.Informers.RevokeInformers(func(key informer.Key) bool {
			return key.Identity == op.identity && key.Namespace == namespace && covers(key.GVR.GroupResource())
		}, errors.New(why))
	}
	if r.Refusal != nil {
		close(func(schema.GroupResource) bool { return true }, r.Refusal.Message)
		return
	}
	for _, m := range r.Missing {
		if r.ProblemFor(m.Resource, "", "list", "watch") != nil {
			close(func(resource schema.GroupResource) bool { return resource == m.Resource }, m.Problem.Message)
		}
	}
}

// recheckNamespaces opens the streams of single namespaces anew that were permitted because
// something was permitted in all: perhaps they are no longer, and each will be
// reviewed, but that takes its time.
func (op *policyController) recheckNamespaces(everywhere *permissionset.Set) {
	op.controller.options.Informers.ExpireWatches(func(key informer.Key) bool {
		return key.Identity == op.identity && key.Namespace != allNamespaces && !everywhere.MayWatch(key.GVR.GroupResource())
	})
}
