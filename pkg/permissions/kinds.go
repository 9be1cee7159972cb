package permissions

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// Kinds finds the resources behind kinds. What the cluster says counts most, then
// definitions, then what is known of Kubernetes' own kinds. The rest is guessed, with a
// warning. Not safe for concurrent use.
type Kinds struct {
	// Mapper asks the cluster; nil: it is not asked.
	Mapper meta.RESTMapper
	// Defined is what CustomResourceDefinitions say. May be nil.
	Defined map[schema.GroupKind]rbac.Kind
	// Reporter is told of guesses, once for a kind. Required.
	Reporter Reporter

	found map[schema.GroupVersionKind]rbac.Kind
}

// FindAll finds all kinds that the policies need something of. The error is the cluster's.
func (k *Kinds) FindAll(programs []*policy.Program) error {
	if k.found == nil {
		k.found = map[schema.GroupVersionKind]rbac.Kind{}
	}
	for _, program := range programs {
		for _, required := range program.Requirements(nil) {
			if _, known := k.found[required.GVK]; known {
				continue
			}
			kind, err := k.findKind(required.GVK)
			if err != nil {
				return err
			}
			k.found[required.GVK] = kind
		}
	}
	return nil
}

// FoundKind returns what FindAll has found.
func (k *Kinds) FoundKind(gvk schema.GroupVersionKind) rbac.Kind { return k.found[gvk] }

func (k *Kinds) findKind(gvk schema.GroupVersionKind) (rbac.Kind, error) {
	kind, served, err := k.askCluster(gvk)
	if served || err != nil {
		return kind, err
	}
	if kind, defined := k.Defined[gvk.GroupKind()]; defined {
		return kind, nil
	}
	kind = rbac.GuessKind(gvk)
	switch {
	case k.Mapper != nil:
		k.Reporter.PrintWarning("the cluster does not serve kind %s in %s: taking its resource to be %s", gvk.Kind, gvk.GroupVersion(), describeKind(kind))
	case !scheme.Scheme.Recognizes(gvk) && !rbac.IsKnown(gvk):
		k.Reporter.PrintWarning("taking the resource of kind %s in %s to be %s: its CustomResourceDefinition, given by --crds, would say", gvk.Kind, gvk.GroupVersion(), describeKind(kind))
	}
	return kind, nil
}

// askCluster asks the cluster, if there is one to ask.
func (k *Kinds) askCluster(gvk schema.GroupVersionKind) (kind rbac.Kind, served bool, err error) {
	if k.Mapper == nil {
		return rbac.Kind{}, false, nil
	}
	mapping, err := k.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return rbac.Kind{}, false, nil
	case err != nil:
		return rbac.Kind{}, false, fmt.Errorf("looking up kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
	}
	kind = rbac.Kind{Resource: mapping.Resource.GroupResource(), Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	return kind, true, nil
}

// describeKind is a kind in words: `memcacheds.cache.example.com, in namespaces`.
func describeKind(kind rbac.Kind) string {
	if kind.Namespaced {
		return kind.Resource.String() + ", in namespaces"
	}
	return kind.Resource.String() + ", without namespaces"
}
