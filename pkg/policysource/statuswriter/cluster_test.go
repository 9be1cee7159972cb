package statuswriter

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/policystatus"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
	"github.com/ambit-dev/ambit/test/sim"
)

// ambitUser is who the writer writes as.
const ambitUser = "ambit"

var (
	policyResource = v1alpha1.GroupVersion.WithResource(v1alpha1.Resource)
	mapResource    = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// cluster is a simulated cluster with a writer on it. The writer sees objects as of the last call of see.
type cluster struct {
	*testing.T
	server *sim.Server
	admin  dynamic.Interface
	writer *Writer
	log    []string

	mu      sync.Mutex // guards what is below, and what objects are seen
	reports fakeReporter
	patches []string // what was sent
	events  []string
}

// Reports implements Reporter.
func (c *cluster) Reports() []policystatus.Report {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reports
}

// report has the writer told these reports from now on.
func (c *cluster) report(reports fakeReporter) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reports = reports
}

// sentCount returns how many patches were sent.
func (c *cluster) sentCount() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.patches)
}

// RetiredOf implements Reporter.
func (c *cluster) RetiredOf(string) (int, bool) { return 2, false }

// seenObjects implements Objects: those of a kind as they were last seen.
type seenObjects struct {
	*cluster
	client   dynamic.NamespaceableResourceInterface
	resource dynamic.NamespaceableResourceInterface // as admin
	seen     map[manifest.Origin]*unstructured.Unstructured
	kind     manifest.Kind
}

func (s *seenObjects) FindObject(o manifest.Origin) *unstructured.Unstructured {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.seen[o.WithoutKey()]
}

func (s *seenObjects) AnnotatedOrigins() (list []manifest.Origin) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for origin, object := range s.seen {
		if _, has := object.GetAnnotations()[v1alpha1.AnnotationStatus]; has {
			list = append(list, origin)
		}
	}
	return list
}

func (s *seenObjects) MayPatch(*unstructured.Unstructured, string) (allowed, known bool) {
	return true, true
}

func (s *seenObjects) PatchObject(ctx context.Context, object *unstructured.Unstructured, subresource string, patch []byte) error {
	var below []string
	if subresource != "" {
		below = append(below, subresource)
	}
	_, err := s.client.Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.MergePatchType, patch, metav1.PatchOptions{}, below...)
	s.mu.Lock()
	s.patches = append(s.patches, strings.TrimSpace(fmt.Sprintf("%s %s", object.GetName(), subresource)))
	s.mu.Unlock()
	return err
}

func (s *seenObjects) RecordEvent(object *unstructured.Unstructured, eventType, reason, note string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events = append(s.events, fmt.Sprintf("%s %s %s: %s", object.GetName(), eventType, reason, note))
}

// see makes the objects seen as they are now.
func (s *seenObjects) see() {
	s.Helper()
	list, err := s.resource.List(s.Context(), metav1.ListOptions{})
	s.must(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.seen)
	for i := range list.Items {
		object := &list.Items[i]
		s.seen[manifest.Origin{Kind: s.kind, Namespace: object.GetNamespace(), Name: object.GetName()}] = object
	}
}

// newCluster has a namespace team, and a writer of custom resources and ConfigMaps, whom everything is permitted.
func newCluster(t *testing.T, o sim.Options) (c *cluster, resources, maps *seenObjects) {
	t.Helper()
	c = &cluster{T: t, server: sim.New(o)}
	c.admin = c.server.As(sim.Admin).Dynamic()
	text, err := os.ReadFile("../../../manifests/crd/ambit.dev_reconcilepolicies.yaml")
	c.must(err)
	c.create(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}, "", string(text))
	c.create(schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}, "", "{apiVersion: v1, kind: Namespace, metadata: {name: team}}")
	const rbac = "rbac.authorization.k8s.io"
	c.create(schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: "clusterroles"}, "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: all}, rules: [{apiGroups: ['*'], resources: ['*'], verbs: [patch]}]}")
	c.create(schema.GroupVersionResource{Group: rbac, Version: "v1", Resource: "clusterrolebindings"}, "", "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRoleBinding, metadata: {name: all}, roleRef: {kind: ClusterRole, name: all}, subjects: [{kind: User, name: ambit}]}")
	objects := func(kind manifest.Kind, resource schema.GroupVersionResource) *seenObjects {
		return &seenObjects{cluster: c, kind: kind, client: c.server.As(ambitUser).Dynamic().Resource(resource), resource: c.admin.Resource(resource), seen: map[manifest.Origin]*unstructured.Unstructured{}}
	}
	resources, maps = objects(manifest.CustomResource, policyResource), objects(manifest.ConfigMap, mapResource)
	c.writer = New(Options{
		Reporter: c, Clock: clock.RealClock{}, Objects: map[manifest.Kind]Objects{manifest.CustomResource: resources, manifest.ConfigMap: maps},
		Logger: funcr.New(func(_, args string) { c.log = append(c.log, args) }, funcr.Options{Verbosity: 1}),
	})
	return c, resources, maps
}

func (c *cluster) create(resource schema.GroupVersionResource, namespace, text string) {
	c.Helper()
	object := &unstructured.Unstructured{}
	c.must(yaml.Unmarshal([]byte(text), &object.Object))
	_, err := c.admin.Resource(resource).Namespace(namespace).Create(c.Context(), object, metav1.CreateOptions{})
	c.must(err)
}

// createPolicy creates a ReconcilePolicy, and returns what a decision has of it: it runs.
func (c *cluster) createPolicy(name string) registry.PolicyState {
	c.Helper()
	content := policytext.Object(c, []byte(policytext.Document(name+" v1")), "team", name)
	object, err := c.admin.Resource(policyResource).Namespace("team").Create(c.Context(), &unstructured.Unstructured{Object: content}, metav1.CreateOptions{})
	c.must(err)
	from := manifest.Origin{Kind: manifest.CustomResource, Namespace: "team", Name: name}
	return registry.PolicyState{
		Key: registry.Key{Origin: from, Namespace: "team", Name: name}, ID: "team/" + name, UID: string(object.GetUID()), Generation: 1,
		Resolution: registry.Resolution{State: registry.Valid},
	}
}

func (c *cluster) patch(resource schema.GroupVersionResource, name, patch string, below ...string) {
	c.Helper()
	_, err := c.admin.Resource(resource).Namespace("team").Patch(c.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, below...)
	c.must(err)
}

func (c *cluster) remove(resource schema.GroupVersionResource, name string) {
	c.Helper()
	c.must(c.admin.Resource(resource).Namespace("team").Delete(c.Context(), name, metav1.DeleteOptions{}))
}

func (c *cluster) get(resource schema.GroupVersionResource, name string) *unstructured.Unstructured {
	c.Helper()
	object, err := c.admin.Resource(resource).Namespace("team").Get(c.Context(), name, metav1.GetOptions{})
	c.must(err)
	return object
}

// pass has the writer write once, and returns what it has sent.
func (c *cluster) pass() (sent []string) {
	before := len(c.patches)
	c.writer.writeAll(c.Context())
	return slices.Clone(c.patches[before:])
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}
