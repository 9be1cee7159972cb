package controller

import (
	"errors"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/controller/permissionset"
	"github.com/ambit-dev/ambit/pkg/controller/placepermissions"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// permissionEvents is what package placepermissions asks and tells of a policy. It is for any goroutine.
type permissionEvents struct{ *policyController }

// permissionsChanged acts upon a change. What is no longer permitted is closed at once; then the
// policy and the owners that are concerned look at it anew.
func (e permissionEvents) permissionsChanged(c placepermissions.Change) {
	if c.IsNew {
		e.closeRevoked(c.Place, c.Now)
		if c.Place == allNamespaces {
			e.recheckNamespaces(c.Now)
		}
		e.controller.enqueueKey(Key{Policy: e.id})
		if c.Before != nil && c.Before.Reviewed && c.Before.String() != "" {
			e.controller.rights.CheckSoon()
		}
	}
	e.enqueueOwnersOf(c.Place)
}

// closeRevoked closes the streams that are no longer permitted.
func (e permissionEvents) closeRevoked(namespace string, r *permissionset.Set) {
	close := func(covers func(schema.GroupResource) bool, why string) {
		e.controller.options.Informers.RevokeInformers(func(key informer.Key) bool {
			return key.Identity == e.identity && key.Namespace == namespace && covers(key.GVR.GroupResource())
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
func (e permissionEvents) recheckNamespaces(everywhere *permissionset.Set) {
	e.controller.options.Informers.ExpireWatches(func(key informer.Key) bool {
		return key.Identity == e.identity && key.Namespace != allNamespaces && !everywhere.MayWatch(key.GVR.GroupResource())
	})
}
