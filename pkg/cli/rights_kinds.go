package cli

import (
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// kindFinder finds the resources behind kinds. What the cluster says counts most,
// then definitions in files, then what is known of Kubernetes' own kinds; the
// rest is guessed, and said so.
type kindFinder struct {
	// mapper asks the cluster; nil: it is not asked.
	mapper meta.RESTMapper
	// defined is what files say.
	defined map[schema.GroupKind]rbac.Kind
	// warn is told of guesses, once for a kind.
	warn func(format string, args ...any)
	// found are the kinds so far.
	found map[schema.GroupVersionKind]rbac.Kind
}

// newKindFinder reads the definitions in the files and folders of --crds, which
// may hold other objects too.
func newKindFinder(crds []string, stdin io.Reader, warn func(string, ...any)) (*kindFinder, error) {
	k := &kindFinder{defined: map[schema.GroupKind]rbac.Kind{}, warn: warn, found: map[schema.GroupVersionKind]rbac.Kind{}}
	files, err := readFiles(crds, stdin)
	if err != nil {
		return nil, err
	}
	objects, err := readObjects(files)
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
			continue
		}
		defines, kind, err := rbac.FromDefinition(object)
		if err != nil {
			return nil, usageErrorf("--crds: %w", err)
		}
		k.defined[defines] = kind
	}
	return k, nil
}

// findAll finds all kinds of the policies. The error is the cluster's.
func (k *kindFinder) findAll(programs []*policy.Program) error {
	for _, program := range programs {
		for _, need := range program.Needs() {
			if _, known := k.found[need.GVK]; known {
				continue
			}
			kind, err := k.find(need.GVK)
			if err != nil {
				return clusterError(err)
			}
			k.found[need.GVK] = kind
		}
	}
	return nil
}

// kind returns what findAll has found.
func (k *kindFinder) kind(gvk schema.GroupVersionKind) rbac.Kind { return k.found[gvk] }

func (k *kindFinder) find(gvk schema.GroupVersionKind) (rbac.Kind, error) {
	kind, served, err := k.ask(gvk)
	if served || err != nil {
		return kind, err
	}
	if kind, defined := k.defined[gvk.GroupKind()]; defined {
		return kind, nil
	}
	kind = rbac.Guess(gvk)
	switch {
	case k.mapper != nil:
		k.warn("the cluster does not serve kind %s in %s: taking its resource to be %s", gvk.Kind, gvk.GroupVersion(), described(kind))
	case !scheme.Scheme.Recognizes(gvk) && !rbac.IsKnown(gvk):
		k.warn("taking the resource of kind %s in %s to be %s: its CustomResourceDefinition, given by --crds, would say", gvk.Kind, gvk.GroupVersion(), described(kind))
	}
	return kind, nil
}

// ask asks the cluster, if there is one to ask.
func (k *kindFinder) ask(gvk schema.GroupVersionKind) (kind rbac.Kind, served bool, err error) {
	if k.mapper == nil {
		return rbac.Kind{}, false, nil
	}
	mapping, err := k.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	switch {
	case meta.IsNoMatchError(err):
		return rbac.Kind{}, false, nil
	case err != nil:
		return rbac.Kind{}, false, fmt.Errorf("looking up kind %s in %s: %w", gvk.Kind, gvk.GroupVersion(), err)
	}
	kind = rbac.Kind{Resource: mapping.Resource.GroupResource(), Namespaced: mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	return kind, true, nil
}

// described is a kind in words: `memcacheds.cache.example.com, in namespaces`.
func described(kind rbac.Kind) string {
	if kind.Namespaced {
		return kind.Resource.String() + ", in namespaces"
	}
	return kind.Resource.String() + ", without namespaces"
}
