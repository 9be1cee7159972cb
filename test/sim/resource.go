package sim

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// resource is a kind that is served, with its objects. The server's mu guards it, but
// for what never changes: group, plural, kind and namespaced.
type resource struct {
	group, plural, kind string
	namespaced          bool
	traits              traits
	// versions are those that are served, the preferred one first. stored is that in
	// which objects are kept.
	versions []*version
	stored   *version
	// definition is the name of the CustomResourceDefinition, empty for built-in kinds.
	definition string
	// terminating: the definition is being deleted. redefined: it is another one than when some
	// objects were stored.
	terminating, redefined bool

	objects   map[types.NamespacedName]*unstructured.Unstructured // immutable
	managed   managedLists
	history   []change
	compacted uint64 // changes up to this resourceVersion are forgotten
	watchers  map[*watcher]bool
}

// traits are in what kinds differ.
type traits struct {
	// unconditional: an update needs no resourceVersion.
	unconditional bool
	// counted: there is a generation, which grows with the spec. annotated: it grows with
	// the annotations, too.
	counted, annotated bool
	// orphans: a delete that does not say what becomes of dependents orphans them.
	orphans bool
	// upserts: a PUT makes what is not there.
	upserts bool
	// fields are the field selectors beside metadata.name and metadata.namespace.
	fields []string
}

// change is a write.
type change struct {
	version  uint64
	old, new *unstructured.Unstructured // nil: there was none, there is none
}

func (r *resource) groupResource() schema.GroupResource {
	return schema.GroupResource{Group: r.group, Resource: r.plural}
}

func (r *resource) versionNamed(name string) *version {
	i := slices.IndexFunc(r.versions, func(v *version) bool { return v.gvk.Version == name })
	if i < 0 {
		return nil
	}
	return r.versions[i]
}

func newResource(group, plural, kind string, namespaced bool) *resource {
	return &resource{
		group: group, plural: plural, kind: kind, namespaced: namespaced,
		objects:  map[types.NamespacedName]*unstructured.Unstructured{},
		managed:  managedLists{},
		watchers: map[*watcher]bool{},
	}
}

// builtinResources are the kinds of Kubernetes that are served: those that operators
// make and watch. All have one version.
func builtinResources() []*resource {
	versions := builtinVersions()
	var all []*resource
	for i, b := range builtins() {
		r := newResource(b.group, b.plural, b.kind, !b.cluster)
		r.traits, r.versions, r.stored = b.traits, []*version{versions[i]}, versions[i]
		all = append(all, r)
	}
	return all
}

// builtinVersions are those of builtins, in this order. All servers share them: their field
// managers take longer to make than all else in a server.
var builtinVersions = sync.OnceValue(func() (all []*version) {
	for _, b := range builtins() {
		gvk := schema.GroupVersionKind{Group: b.group, Version: b.version, Kind: b.kind}
		v := &version{gvk: gvk, status: b.status, decoder: newBuiltinDecoder(gvk)}
		converter := builtinConverter
		if b.kind == definitionKind {
			v.decoder, converter = definitionDecoder{}, definitionConverter
		}
		v.manage(converter, gvk.GroupVersion())
		all = append(all, v)
	}
	return all
})

// builtin is a row of the table of built-in kinds.
type builtin struct {
	group, version, plural, kind string
	cluster, status              bool
	traits                       traits
}

func builtins() []builtin {
	plain, upserts := traits{unconditional: true}, traits{unconditional: true, upserts: true}
	counted := traits{unconditional: true, counted: true}
	annotated := traits{unconditional: true, counted: true, annotated: true}
	orphans := traits{unconditional: true, counted: true, orphans: true}
	pods := traits{unconditional: true, counted: true, fields: []string{"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName", "status.phase", "status.podIP", "status.nominatedNodeName"}}
	return []builtin{
		{"", "v1", "configmaps", "ConfigMap", false, false, plain},
		{"", "v1", "secrets", "Secret", false, false, traits{unconditional: true, fields: []string{"type"}}},
		{"", "v1", "namespaces", "Namespace", true, true, traits{unconditional: true, fields: []string{"status.phase"}}},
		{"", "v1", "serviceaccounts", "ServiceAccount", false, false, traits{}},
		{"", "v1", "services", "Service", false, true, upserts},
		{"", "v1", "endpoints", "Endpoints", false, false, upserts},
		{"", "v1", "events", "Event", false, false, upserts},
		{"", "v1", "pods", "Pod", false, true, pods},
		{"", "v1", "persistentvolumeclaims", "PersistentVolumeClaim", false, true, plain},
		{"", "v1", "persistentvolumes", "PersistentVolume", true, true, plain},
		{"", "v1", "resourcequotas", "ResourceQuota", false, true, plain},
		{"", "v1", "limitranges", "LimitRange", false, false, upserts},
		{"", "v1", "nodes", "Node", true, true, plain},
		{"apps", "v1", "deployments", "Deployment", false, true, annotated},
		{"apps", "v1", "replicasets", "ReplicaSet", false, true, counted},
		{"apps", "v1", "statefulsets", "StatefulSet", false, true, counted},
		{"apps", "v1", "daemonsets", "DaemonSet", false, true, counted},
		{"batch", "v1", "jobs", "Job", false, true, orphans},
		{"batch", "v1", "cronjobs", "CronJob", false, true, counted},
		{"autoscaling", "v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler", false, true, plain},
		{"policy", "v1", "poddisruptionbudgets", "PodDisruptionBudget", false, true, traits{counted: true}},
		{"networking.k8s.io", "v1", "ingresses", "Ingress", false, true, counted},
		{"networking.k8s.io", "v1", "networkpolicies", "NetworkPolicy", false, false, counted},
		{"coordination.k8s.io", "v1", "leases", "Lease", false, false, traits{upserts: true}},
		{"rbac.authorization.k8s.io", "v1", "roles", "Role", false, false, upserts},
		{"rbac.authorization.k8s.io", "v1", "rolebindings", "RoleBinding", false, false, upserts},
		{"rbac.authorization.k8s.io", "v1", "clusterroles", "ClusterRole", true, false, upserts},
		{"rbac.authorization.k8s.io", "v1", "clusterrolebindings", "ClusterRoleBinding", true, false, upserts},
		{"storage.k8s.io", "v1", "storageclasses", "StorageClass", true, false, plain},
		{"apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", true, true, traits{counted: true}},
	}
}
