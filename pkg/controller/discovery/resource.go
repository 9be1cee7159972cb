package discovery

import (
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Resource is how the API server serves a kind. Two are equal (==) if they do not differ.
type Resource struct {
	// GVR is the resource, in one version of the kind.
	GVR schema.GroupVersionResource
	// Namespaced: the objects are in namespaces.
	Namespaced bool
}

// ServedKind is what the API server answers about a kind.
type ServedKind struct {
	// Mappings are one for each version in which the kind is served, the preferred version
	// first. Empty if it is served in none.
	Mappings []*meta.RESTMapping
	// Err says why other versions may be served too. Nil if the answer is complete.
	Err error
}

// findVersion returns the resource of a kind in its version. The error is an OtherVersionError, or a
// NoKindMatchError if no version is served, or Err.
func (s ServedKind) findVersion(gvk schema.GroupVersionKind) (Resource, error) {
	for _, m := range s.Mappings {
		if m.GroupVersionKind.Version == gvk.Version {
			return resourceOf(m), nil
		}
	}
	switch {
	case s.Err != nil:
		return Resource{}, s.Err
	case len(s.Mappings) == 0:
		return Resource{}, &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	}
	preferred := s.Mappings[0]
	return Resource{}, &OtherVersionError{Wanted: gvk, Served: preferred.GroupVersionKind, Resource: resourceOf(preferred)}
}

func resourceOf(m *meta.RESTMapping) Resource {
	return Resource{GVR: m.Resource, Namespaced: m.Scope.Name() == meta.RESTScopeNameNamespace}
}

// OtherVersionError is the error of a kind that is served, but not in the version that was
// looked up. Its objects are there.
type OtherVersionError struct {
	// Wanted is the kind that was looked up, and Served the version that the API server prefers.
	Wanted, Served schema.GroupVersionKind
	// Resource is that of Served.
	Resource Resource
}

// Error implements error. The text is for users.
func (e *OtherVersionError) Error() string {
	return fmt.Sprintf("the API server does not serve kind %s in %s, but in %s", e.Wanted.Kind, e.Wanted.GroupVersion(), e.Served.GroupVersion())
}

// IsUnserved reports whether an error of LookupKind says that a kind is not served in the version
// that was looked up. Every other error means that nobody knows. It is false for nil.
func IsUnserved(err error) bool { return meta.IsNoMatchError(err) || otherVersion(err) != nil }

// otherVersion returns the OtherVersionError in an error; nil if there is none.
func otherVersion(err error) *OtherVersionError {
	var other *OtherVersionError
	errors.As(err, &other)
	return other
}
