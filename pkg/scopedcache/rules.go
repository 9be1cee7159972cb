package scopedcache

import (
	"maps"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// Rules returns the least that a cache needs for what was asked of it so far, by namespace: a Role's rules, or a
// ClusterRole's for "". It says nothing of what a client writes, nor of what was granted. The cache is one of New;
// of another one nothing is known.
func Rules(of cache.Cache) map[string][]rbacv1.PolicyRule {
	c, ok := of.(*Cache)
	if !ok {
		return nil
	}
	resources := map[string]map[string][]string{} // by namespace and group
	for _, k := range c.engine.watchedKinds() {
		for _, s := range k.allStreams() {
			at, gvr := s.requestNamespace, s.informerKey.GVR
			if resources[at] == nil {
				resources[at] = map[string][]string{}
			}
			resources[at][gvr.Group] = append(resources[at][gvr.Group], gvr.Resource)
		}
	}
	rules := make(map[string][]rbacv1.PolicyRule, len(resources))
	for namespace, groups := range resources {
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			slices.Sort(groups[group])
			rules[namespace] = append(rules[namespace], rbacv1.PolicyRule{
				APIGroups: []string{group}, Resources: slices.Compact(groups[group]), Verbs: []string{"list", "watch"},
			})
		}
	}
	return rules
}

// watchedKinds returns the kinds that are needed, and that of namespaces if it is watched.
func (e *engine) watchedKinds() []*kind {
	kinds := e.allKinds()
	if e.namespaces.kind != nil {
		kinds = append(kinds, e.namespaces.kind)
	}
	return kinds
}
