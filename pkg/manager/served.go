package manager

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// served finds the versions in which a kind is served now: as engine.Options has it. A
// mapper does not do, since it never forgets a version that it has seen.
type served struct{ client discovery.DiscoveryInterface }

func newServed(config *rest.Config, client *http.Client) (served, error) {
	made, err := discovery.NewDiscoveryClientForConfigAndClient(config, client)
	return served{client: made}, err
}

// find asks for the versions of the group, the preferred one first, and for what is
// served in each.
func (s served) find(ctx context.Context, gk schema.GroupKind) ([]*meta.RESTMapping, error) {
	versions, err := s.versions(ctx, gk.Group)
	if err != nil {
		return nil, fmt.Errorf("looking up the versions of group %q: %w", gk.Group, err)
	}
	var found []*meta.RESTMapping
	for _, version := range versions {
		resources, err := s.client.ServerResourcesForGroupVersion(version.String())
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking up what %s has: %w", version, err)
		}
		if m := mappingOf(resources, version.WithKind(gk.Kind)); m != nil {
			found = append(found, m)
		}
	}
	return found, nil
}

// versions are those of a group, the preferred one first; none if there is no such group.
func (s served) versions(ctx context.Context, group string) ([]schema.GroupVersion, error) {
	if group == "" {
		return []schema.GroupVersion{{Version: "v1"}}, nil
	}
	var answer metav1.APIGroup
	err := s.client.RESTClient().Get().AbsPath("/apis/" + group).Do(ctx).Into(&answer)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	var versions []schema.GroupVersion
	for _, v := range answer.Versions {
		next := schema.GroupVersion{Group: group, Version: v.Version}
		if v.Version == answer.PreferredVersion.Version {
			versions = slices.Insert(versions, 0, next)
			continue
		}
		versions = append(versions, next)
	}
	return versions, err
}

// mappingOf finds the resource of a kind; nil if there is none.
func mappingOf(list *metav1.APIResourceList, gvk schema.GroupVersionKind) *meta.RESTMapping {
	for i := range list.APIResources {
		r := &list.APIResources[i]
		if r.Kind != gvk.Kind || strings.Contains(r.Name, "/") || r.Group != "" && r.Group != gvk.Group || r.Version != "" && r.Version != gvk.Version {
			continue
		}
		scope := meta.RESTScopeRoot
		if r.Namespaced {
			scope = meta.RESTScopeNamespace
		}
		return &meta.RESTMapping{Resource: gvk.GroupVersion().WithResource(r.Name), GroupVersionKind: gvk, Scope: scope}
	}
	return nil
}
