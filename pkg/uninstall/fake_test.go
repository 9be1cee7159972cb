package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The kinds of the fake cluster. Gizmo is one that it does not serve.
var (
	appKind       = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "App"}
	gizmoKind     = schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Gizmo"}
	configMapKind = schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	secretKind    = schema.GroupVersionKind{Version: "v1", Kind: "Secret"}
	roleKind      = schema.GroupVersionKind{Group: "rbac.authorization.k8s.io", Version: "v1", Kind: "ClusterRole"}
	policyKind    = v1alpha1.GroupVersion.WithKind(v1alpha1.Kind)
)

// fakeCluster is an API server in memory that has metadata.
type fakeCluster struct {
	*testing.T
	*metadatafake.FakeMetadataClient
	// partly is the error of discovery beside the kinds, nil for none.
	partly error
}

// newFakeCluster returns a cluster with objects. Each says its kind.
func newFakeCluster(t *testing.T, objects ...*metav1.PartialObjectMetadata) *fakeCluster {
	t.Helper()
	scheme := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	var list []runtime.Object
	for _, o := range objects {
		list = append(list, o)
	}
	return &fakeCluster{T: t, FakeMetadataClient: metadatafake.NewSimpleMetadataClient(scheme, list...)}
}

// scan looks in namespaces of the cluster.
func (c *fakeCluster) scan(namespaces ...string) Scan {
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{appKind.GroupVersion(), configMapKind.GroupVersion(), roleKind.GroupVersion(), policyKind.GroupVersion()})
	for _, kind := range []schema.GroupVersionKind{appKind, configMapKind, secretKind, policyKind} {
		mapper.Add(kind, meta.RESTScopeNamespace)
	}
	mapper.Add(roleKind, meta.RESTScopeRoot)
	return Scan{Objects: c.FakeMetadataClient, Mapper: mapper, Discovery: c, Namespaces: namespaces}
}

// ServerPreferredResources implements KindDiscovery.
func (c *fakeCluster) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	verbs := metav1.Verbs{"get", "list"}
	return []*metav1.APIResourceList{
		{GroupVersion: "v1", APIResources: []metav1.APIResource{
			{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: verbs}, {Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: verbs},
			{Name: "bindings", Kind: "Binding", Namespaced: true, Verbs: metav1.Verbs{"create"}},
		}},
		{GroupVersion: "example.com/v1", APIResources: []metav1.APIResource{{Name: "apps", Kind: "App", Namespaced: true, Verbs: verbs}}},
		{GroupVersion: roleKind.GroupVersion().String(), APIResources: []metav1.APIResource{{Name: "clusterroles", Kind: "ClusterRole", Verbs: verbs}}},
	}, c.partly
}

var _ KindDiscovery = (*fakeCluster)(nil)

// failGroup makes discovery fail for a group.
func (c *fakeCluster) failGroup(group, why string) {
	c.partly = &discovery.ErrGroupDiscoveryFailed{Groups: map[schema.GroupVersion]error{{Group: group, Version: "v1"}: errors.New(why)}}
}

// refuse answers requests for a resource with err, in one namespace, or in all if it is *.
func (c *fakeCluster) refuse(verb, resource, namespace string, err error) {
	c.PrependReactor(verb, resource, func(action clienttesting.Action) (bool, runtime.Object, error) {
		return namespace == "*" || action.GetNamespace() == namespace, nil, err
	})
}

// failOnce answers one request with err.
func (c *fakeCluster) failOnce(verb string, err error) {
	failed := false
	c.PrependReactor(verb, "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		handled := !failed
		failed = true
		return handled, nil, err
	})
}

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("no right"))
}

// requests are the lists that were sent, as in `secrets team-a ambit.dev/policy=web`.
func (c *fakeCluster) requests() (sent []string) {
	for _, action := range c.Actions() {
		text := action.GetResource().Resource + " " + action.GetNamespace()
		if list, ok := action.(clienttesting.ListAction); ok {
			text += " " + list.GetListRestrictions().Labels.String() + " " + list.GetListRestrictions().Fields.String()
		}
		sent = append(sent, strings.TrimSpace(text))
	}
	return sent
}

// of returns the change that makes metadata an object of a kind.
func of(kind schema.GroupVersionKind, namespace, name string) func(*metav1.PartialObjectMetadata) {
	return func(o *metav1.PartialObjectMetadata) {
		o.SetGroupVersionKind(kind)
		o.Namespace, o.Name = namespace, name
	}
}

// fakeConfigMaps are the ConfigMaps of each namespace.
type fakeConfigMaps map[string][]corev1.ConfigMap

func (f fakeConfigMaps) ConfigMaps(namespace string) corev1client.ConfigMapInterface {
	return configMapsIn{all: f, namespace: namespace}
}

// configMapsIn lists. Nobody may list all namespaces.
type configMapsIn struct {
	corev1client.ConfigMapInterface
	all       fakeConfigMaps
	namespace string
}

func (c configMapsIn) List(_ context.Context, o metav1.ListOptions) (*corev1.ConfigMapList, error) {
	if c.namespace == "" {
		return nil, forbidden("configmaps")
	}
	if want := "ambit.dev/policy-source=true,app.kubernetes.io/managed-by!=ambit"; o.LabelSelector != want {
		return nil, fmt.Errorf("the selector is %s, want %s", o.LabelSelector, want)
	}
	return &corev1.ConfigMapList{Items: slices.Clone(c.all[c.namespace])}, nil
}

// lines are the findings as users of cleanup see them.
func lines(found []Finding) (text []string) {
	for _, f := range found {
		text = append(text, f.String())
	}
	return text
}
