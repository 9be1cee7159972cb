// Package waitingclient is a client whose writes are in a cache when they return.
package waitingclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotWhole is why a kind of which only some fields are kept is not updated.
var ErrNotWhole = errors.New("the cache does not keep whole objects of this kind, and an update would clear the rest: use Patch or Apply")

// View is what the cache shows.
type View interface {
	// AwaitWrite waits until an object is shown as the API server answered a write of it.
	AwaitWrite(context.Context, client.Object) error
	// AwaitDeletion is called before an object is deleted, and returns what waits after it until that is shown.
	AwaitDeletion(client.Object) func(context.Context) error
	// IsKeptWhole reports whether a subresource of a kind is shown as it is, or with "" all of it.
	IsKeptWhole(kind schema.GroupVersionKind, subresource string) bool
}

// New returns a client that waits for a view.
func New(c client.Client, view View) *Client { return &Client{c, view} }

// Client is a client whose writes are in the cache when they return. It refuses an update that would clear what the cache
// does not keep.
type Client struct {
	client.Client
	view View
}

// Create implements client.Writer.
func (c *Client) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := c.Client.Create(ctx, object, options...); err != nil {
		return err
	}
	return c.waitWritten(ctx, object)
}

// Update implements client.Writer.
func (c *Client) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	if err := c.checkWhole(object, ""); err != nil {
		return err
	}
	if err := c.Client.Update(ctx, object, options...); err != nil {
		return err
	}
	return c.waitWritten(ctx, object)
}

// checkWhole returns an error if an update of an object, or of a subresource of it, would clear what the cache does not
// keep.
func (c *Client) checkWhole(object client.Object, subresource string) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil || c.view.IsKeptWhole(gvk, subresource) {
		return err
	}
	return fmt.Errorf("updating %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(object), ErrNotWhole)
}

// Patch implements client.Writer.
func (c *Client) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.Client.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	return c.waitWritten(ctx, object)
}

// Apply implements client.Writer.
func (c *Client) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if err := c.Client.Apply(ctx, object, options...); err != nil {
		return err
	}
	answer, err := metadataOf(object)
	if err != nil {
		return err
	}
	return c.waitWritten(ctx, answer)
}

// metadataOf returns the metadata of an apply configuration, which has the API server's answer.
func metadataOf(object runtime.ApplyConfiguration) (*metav1.PartialObjectMetadata, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("reading what was applied: %w", err)
	}
	answer := &metav1.PartialObjectMetadata{}
	if err := json.Unmarshal(text, answer); err != nil {
		return nil, fmt.Errorf("reading what was applied: %w", err)
	}
	return answer, nil
}

// Delete implements client.Writer.
func (c *Client) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	given := client.DeleteOptions{}
	given.ApplyOptions(options)
	wait := c.view.AwaitDeletion(object)
	if err := c.Client.Delete(ctx, object, options...); err != nil || len(given.DryRun) > 0 {
		return err
	}
	return wait(ctx)
}

// Status implements client.StatusClient.
func (c *Client) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c *Client) SubResource(name string) client.SubResourceClient {
	return &subResource{c.Client.SubResource(name), c, name}
}

// subResource waits as Client does, but for Create, which makes something else.
type subResource struct {
	client.SubResourceClient
	client *Client
	name   string
}

// Update implements client.SubResourceWriter.
func (c *subResource) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
	given := (&client.SubResourceUpdateOptions{}).ApplyOptions(options)
	if given.SubResourceBody == nil {
		if err := c.client.checkWhole(object, c.name); err != nil {
			return err
		}
	}
	if err := c.SubResourceClient.Update(ctx, object, options...); err != nil {
		return err
	}
	return c.waitForBody(ctx, object, given.SubResourceBody)
}

// Patch implements client.SubResourceWriter.
func (c *subResource) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := c.SubResourceClient.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	return c.waitForBody(ctx, object, (&client.SubResourcePatchOptions{}).ApplyOptions(options).SubResourceBody)
}

// Apply implements client.SubResourceWriter.
func (c *subResource) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
	if err := c.SubResourceClient.Apply(ctx, object, options...); err != nil {
		return err
	}
	written, err := metadataOf(object)
	if err != nil {
		return err
	}
	body := (&client.SubResourceApplyOptions{}).ApplyOpts(options).SubResourceBody
	if body == nil {
		return c.client.waitWritten(ctx, written)
	}
	answer, err := metadataOf(body)
	if err != nil {
		return err
	}
	return c.waitForBody(ctx, written, answer)
}

// waitForBody waits for a write of an object. The answer of the API server is in the body, if there is one.
func (c *subResource) waitForBody(ctx context.Context, object, body client.Object) error {
	if body == nil {
		return c.client.waitWritten(ctx, object)
	}
	written, ok := object.DeepCopyObject().(client.Object)
	if !ok {
		return fmt.Errorf("writing %T: it is no object", object)
	}
	written.SetResourceVersion(body.GetResourceVersion())
	return c.client.waitWritten(ctx, written)
}

// waitWritten waits until the cache shows an object as the API server answered. An answer without a
// resourceVersion is that of a dry run.
func (c *Client) waitWritten(ctx context.Context, object client.Object) error {
	if object.GetResourceVersion() == "" {
		return nil
	}
	return c.view.AwaitWrite(ctx, object)
}
