package manager

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/controller/discovery"
)

// servedKinds finds the versions in which kinds are served now: as discovery.Options has it. A
// mapper does not do, since it never forgets a version that it has seen, and asks for each
// kind that it does not know.
type servedKinds struct {
	client *clientdiscovery.DiscoveryClient
}

func newServedKinds(config *rest.Config, client *http.Client) (servedKinds, error) {
	made, err := clientdiscovery.NewDiscoveryClientForConfigAndClient(config, client)
	return servedKinds{client: made}, err
}

// findKinds asks for all that is served: two requests, for the documents of /api and /apis. An
// API server before 1.27 is also asked for each version of those of the groups that it has.
func (s servedKinds) findKinds(ctx context.Context, kinds []schema.GroupKind) (map[schema.GroupKind]discovery.ServedKind, error) {
	groups, resources, failed, err := s.client.GroupsAndMaybeResourcesWithContext(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking up what the API server serves: %w", err)
	}
	document := discoveryDocument{groups: map[string][]schema.GroupVersion{}, resources: resources, failed: failed}
	for _, group := range groups.Groups {
		document.groups[group.Name] = versionsOf(group)
	}
	if resources == nil {
		s.addOldResources(ctx, &document, kinds)
	}
	found := make(map[schema.GroupKind]discovery.ServedKind, len(kinds))
	for _, gk := range kinds {
		found[gk] = document.findKind(gk)
	}
	return found, nil
}

// addOldResources asks for the resources of the groups of kinds, each group once.
func (s servedKinds) addOldResources(ctx context.Context, d *discoveryDocument, kinds []schema.GroupKind) {
	d.resources = map[schema.GroupVersion]*metav1.APIResourceList{}
	for _, gk := range kinds {
		for _, version := range d.groups[gk.Group] {
			if d.resources[version] != nil || d.failed[version] != nil {
				continue
			}
			list, err := s.client.ServerResourcesForGroupVersionWithContext(ctx, version.String())
			switch {
			case err == nil:
				d.resources[version] = list
			case apierrors.IsNotFound(err):
				d.resources[version] = &metav1.APIResourceList{}
			default:
				d.failed[version] = err
			}
		}
	}
}

// discoveryDocument is what the API server says that it serves.
type discoveryDocument struct {
	groups    map[string][]schema.GroupVersion // by group, the preferred version first
	resources map[schema.GroupVersion]*metav1.APIResourceList
	failed    map[schema.GroupVersion]error // what nobody knows the resources of
}

// findKind says how a kind is served. A version of its group that could not be asked for may
// have it.
func (d discoveryDocument) findKind(gk schema.GroupKind) (found discovery.ServedKind) {
	for _, version := range d.groups[gk.Group] {
		if list := d.resources[version]; list != nil {
			if m := mappingOf(list, version.WithKind(gk.Kind)); m != nil {
				found.Mappings = append(found.Mappings, m)
			}
		}
	}
	var failed []error
	for version, err := range d.failed {
		if version.Group == gk.Group {
			failed = append(failed, fmt.Errorf("looking up what %s has: %w", version, err))
		}
	}
	slices.SortFunc(failed, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	found.Err = errors.Join(failed...)
	return found
}

// versionsOf are the versions of a group, the preferred one first.
func versionsOf(group metav1.APIGroup) []schema.GroupVersion {
	var versions []schema.GroupVersion
	for _, v := range group.Versions {
		next := schema.GroupVersion{Group: group.Name, Version: v.Version}
		if v.Version == group.PreferredVersion.Version {
			versions = slices.Insert(versions, 0, next)
			continue
		}
		versions = append(versions, next)
	}
	return versions
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
