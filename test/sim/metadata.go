package sim

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// Metadata returns the client of metadata only.
func (c *Client) Metadata() metadata.Interface { return metadataClient{c} }

// metadataClient implements metadata.Interface.
type metadataClient struct{ *Client }

var _ metadata.Interface = metadataClient{}

// Resource implements metadata.Interface.
func (c metadataClient) Resource(gvr schema.GroupVersionResource) metadata.Getter {
	return partials{objects{Client: c.Client, resource: gvr}}
}

// partials implements metadata.Getter. Its requests are those of whole objects; only
// the answers are smaller.
type partials struct{ all objects }

// Namespace implements metadata.Getter.
func (p partials) Namespace(namespace string) metadata.ResourceInterface {
	p.all.namespace = namespace
	return p
}

// Delete implements metadata.ResourceInterface.
func (p partials) Delete(ctx context.Context, name string, opts metav1.DeleteOptions, subresources ...string) error {
	return p.all.Delete(ctx, name, opts, subresources...)
}

// DeleteCollection implements metadata.ResourceInterface.
func (p partials) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	return p.all.DeleteCollection(ctx, opts, list)
}

// Get implements metadata.ResourceInterface.
func (p partials) Get(ctx context.Context, name string, opts metav1.GetOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	obj, err := p.all.Get(ctx, name, opts, subresources...)
	if err != nil {
		return nil, err
	}
	return partial(obj, managedLists{}), nil
}

// List implements metadata.ResourceInterface.
func (p partials) List(ctx context.Context, opts metav1.ListOptions) (answer *metav1.PartialObjectMetadataList, err error) {
	err = p.all.server.do(ctx, p.all.collection("list", opts), func(c *call) error {
		found, err := c.list(opts)
		if err == nil {
			answer = found.metadata()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Watch implements metadata.ResourceInterface.
func (p partials) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return p.all.watch(ctx, opts, true)
}

// Patch implements metadata.ResourceInterface.
func (p partials) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*metav1.PartialObjectMetadata, error) {
	obj, err := p.all.Patch(ctx, name, kind, data, opts, subresources...)
	if err != nil {
		return nil, err
	}
	return partial(obj, managedLists{}), nil
}

// nameIn is the name that a field selector asks for; empty if it asks for more.
func nameIn(selector string) string {
	if selector == "" {
		return ""
	}
	parsed, err := fields.ParseSelector(selector)
	if err != nil {
		return ""
	}
	name, _ := parsed.RequiresExactMatch("metadata.name")
	return name
}

func splitPath(path string) []string { return strings.Split(path, ".") }
