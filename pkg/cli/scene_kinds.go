package cli

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// definedKinds are what CustomResourceDefinitions in files say of kinds. May be nil.
type definedKinds map[schema.GroupKind]rbac.Kind

// isNamespaced reports whether objects of a kind live in namespaces: as definitions in
// files say, else as it is for Kubernetes' own kinds and most others.
func (k definedKinds) isNamespaced(gvk schema.GroupVersionKind) bool {
	if kind, defined := k[gvk.GroupKind()]; defined {
		return kind.Namespaced
	}
	return rbac.Guess(gvk).Namespaced
}

// isSurelyNamespaced is isNamespaced without the guess for kinds of others.
func (k definedKinds) isSurelyNamespaced(gvk schema.GroupVersionKind) bool {
	_, defined := k[gvk.GroupKind()]
	return (defined || scheme.Scheme.Recognizes(gvk)) && k.isNamespaced(gvk)
}
