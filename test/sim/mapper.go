package sim

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mapper returns a mapper of what is served when it is asked. Unlike client-go's it
// forgets what is gone.
func (c *Client) Mapper() meta.RESTMapper { return mapper{c} }

// Served returns in which versions a kind is served, the preferred one first: it is
// engine.Options.Served.
func (c *Client) Served(ctx context.Context, gk schema.GroupKind) ([]*meta.RESTMapping, error) {
	known, err := c.discover(ctx, gk.Group)
	if err != nil {
		return nil, err
	}
	found, err := known.RESTMappings(gk)
	if meta.IsNoMatchError(err) {
		return nil, nil
	}
	return found, err
}

// discover asks for all that is served.
func (c *Client) discover(ctx context.Context, group string) (*meta.DefaultRESTMapper, error) {
	s, r := c.server, c.request("discover", schema.GroupVersionResource{Group: group}, "", "")
	if err := s.options.Faults.Before(ctx, r); err != nil {
		return nil, err
	}
	known := s.discover()
	return known, s.options.Faults.After(ctx, r, nil)
}

// discover is what is served now: made once for each change of it, and immutable.
func (s *Server) discover() *meta.DefaultRESTMapper {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.mappings == nil {
		s.mappings = s.mappingsLocked()
	}
	return s.mappings
}

func (s *Server) mappingsLocked() *meta.DefaultRESTMapper {
	var preferred []schema.GroupVersion
	for _, r := range s.sortedResourcesLocked() {
		for _, v := range r.versions {
			if gv := v.gvk.GroupVersion(); !slices.Contains(preferred, gv) {
				preferred = append(preferred, gv)
			}
		}
	}
	known := meta.NewDefaultRESTMapper(preferred)
	for _, r := range s.sortedResourcesLocked() {
		scope := meta.RESTScopeRoot
		if r.namespaced {
			scope = meta.RESTScopeNamespace
		}
		for _, v := range r.versions {
			gv := v.gvk.GroupVersion()
			known.AddSpecific(v.gvk, gv.WithResource(r.plural), gv.WithResource(singular(r.kind)), scope)
		}
	}
	return known
}

// mapper implements meta.RESTMapper by asking each time.
type mapper struct{ *Client }

var _ meta.RESTMapper = mapper{}

// ask is a discovery request and a look at its answer.
func ask[T any](m mapper, group string, look func(*meta.DefaultRESTMapper) (T, error)) (T, error) {
	known, err := m.discover(context.Background(), group) // a RESTMapper knows no context
	if err != nil {
		var nothing T
		return nothing, err
	}
	return look(known)
}

// KindFor implements meta.RESTMapper.
func (m mapper) KindFor(resource schema.GroupVersionResource) (schema.GroupVersionKind, error) {
	return ask(m, resource.Group, func(k *meta.DefaultRESTMapper) (schema.GroupVersionKind, error) { return k.KindFor(resource) })
}

// KindsFor implements meta.RESTMapper.
func (m mapper) KindsFor(resource schema.GroupVersionResource) ([]schema.GroupVersionKind, error) {
	return ask(m, resource.Group, func(k *meta.DefaultRESTMapper) ([]schema.GroupVersionKind, error) { return k.KindsFor(resource) })
}

// ResourceFor implements meta.RESTMapper.
func (m mapper) ResourceFor(input schema.GroupVersionResource) (schema.GroupVersionResource, error) {
	return ask(m, input.Group, func(k *meta.DefaultRESTMapper) (schema.GroupVersionResource, error) { return k.ResourceFor(input) })
}

// ResourcesFor implements meta.RESTMapper.
func (m mapper) ResourcesFor(input schema.GroupVersionResource) ([]schema.GroupVersionResource, error) {
	return ask(m, input.Group, func(k *meta.DefaultRESTMapper) ([]schema.GroupVersionResource, error) { return k.ResourcesFor(input) })
}

// RESTMapping implements meta.RESTMapper.
func (m mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*meta.RESTMapping, error) {
	return ask(m, gk.Group, func(k *meta.DefaultRESTMapper) (*meta.RESTMapping, error) { return k.RESTMapping(gk, versions...) })
}

// RESTMappings implements meta.RESTMapper.
func (m mapper) RESTMappings(gk schema.GroupKind, versions ...string) ([]*meta.RESTMapping, error) {
	return ask(m, gk.Group, func(k *meta.DefaultRESTMapper) ([]*meta.RESTMapping, error) { return k.RESTMappings(gk, versions...) })
}

// ResourceSingularizer implements meta.RESTMapper.
func (m mapper) ResourceSingularizer(resource string) (string, error) {
	return ask(m, "", func(k *meta.DefaultRESTMapper) (string, error) { return k.ResourceSingularizer(resource) })
}

// singular is the singular name of a kind's resource.
func singular(kind string) string { return strings.ToLower(kind) }
