package cluster

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/test/poll"
)

// fieldManager is who applies what tests set up.
const fieldManager = "test-cluster"

// settleTimeout bounds the wait for a new kind to be served; it takes 0.1 s.
const settleTimeout = 30 * time.Second

// Apply applies the documents as administrator, in their order, by server-side
// apply with force; so it may be repeated. Objects of namespaced kinds that name
// no namespace go to "default". After a CustomResourceDefinition it waits until
// its kind is served.
func (c *Cluster) Apply(ctx context.Context, documents ...[]byte) error {
	for _, data := range documents {
		objects, err := decode(data)
		if err != nil {
			return err
		}
		for _, object := range objects {
			if err := c.applier.apply(ctx, object); err != nil {
				return fmt.Errorf("applying %s %q: %w", object.GetKind(), object.GetName(), err)
			}
		}
	}
	return nil
}

// decode returns the objects of a file with YAML documents, empty ones left out.
func decode(data []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("reading YAML: %w", err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			return nil, fmt.Errorf("decoding YAML: %w", err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// applier is safe for concurrent use.
type applier struct {
	objects dynamic.Interface
	mapper  *restmapper.DeferredDiscoveryRESTMapper
}

func newApplier(config *rest.Config) (*applier, error) {
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a dynamic client: %w", err)
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making a discovery client: %w", err)
	}
	return &applier{objects: objects, mapper: restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))}, nil
}

func (a *applier) apply(ctx context.Context, object *unstructured.Unstructured) error {
	mapping, err := a.mapping(object.GroupVersionKind())
	if err != nil {
		return err
	}
	var client dynamic.ResourceInterface = a.objects.Resource(mapping.Resource)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		if object.GetNamespace() == "" {
			object.SetNamespace(metav1.NamespaceDefault)
		}
		client = a.objects.Resource(mapping.Resource).Namespace(object.GetNamespace())
	}
	options := metav1.ApplyOptions{FieldManager: fieldManager, Force: true}
	if _, err := client.Apply(ctx, object.GetName(), object, options); err != nil {
		return err
	}
	if object.GroupVersionKind().GroupKind() != (schema.GroupKind{Group: "apiextensions.k8s.io", Kind: "CustomResourceDefinition"}) {
		return nil
	}
	return a.awaitKind(ctx, client, object)
}

// mapping looks a kind up, and again with fresh knowledge if it is not known.
func (a *applier) mapping(kind schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		a.mapper.Reset()
		mapping, err = a.mapper.RESTMapping(kind.GroupKind(), kind.Version)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the resource of %s: %w", kind, err)
	}
	return mapping, nil
}

// awaitKind waits until the kind that crd defines is established, found by
// discovery, and listed.
func (a *applier) awaitKind(ctx context.Context, crds dynamic.ResourceInterface, crd *unstructured.Unstructured) error {
	var last error
	err := poll.Until(ctx, settleTimeout, func(ctx context.Context) (bool, error) {
		now, err := crds.Get(ctx, crd.GetName(), metav1.GetOptions{})
		if err != nil {
			return false, err
		}
		last = a.served(ctx, now)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for it to be served: %w", errors.Join(err, last))
	}
	return nil
}
