package scopedcache

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/ambit-dev/ambit/pkg/informer/objectstore"
)

// ErrNotShown is what a write fails with that was accepted by the API server, and that the cache has not shown in
// Options.WriteTimeout or before the context has ended.
var ErrNotShown = errors.New("it was written, and the cache does not show it yet")

// errNotWhole is why a kind with Options.Fields is not updated.
var errNotWhole = errors.New("the cache does not keep whole objects of this kind, and an update would clear the rest: use Patch or Apply")

// NewClient is a client.NewClientFunc, for manager.Options.NewClient beside a cache of New: when a Create, an
// Update, a Patch, an Apply or a Delete of one object returns, or one of its subresource, reads of the cache show
// it, in whichever namespace it is. What the cache does not watch, or has been refused, is not waited for; nor is
// DeleteAllOf, nor the Create of a subresource, nor anything while the cache does not run. A deletion is shown when
// the object is gone, or has a deletionTimestamp.
func NewClient(config *rest.Config, options client.Options) (client.Client, error) {
	made, err := client.New(config, options)
	if err != nil || options.Cache == nil || ptr.Deref(options.DryRun, false) {
		return made, err // nothing is written
	}
	c, ok := options.Cache.Reader.(*Cache)
	if !ok {
		return nil, fmt.Errorf("making a client that waits for a scoped cache: its cache is a %T", options.Cache.Reader)
	}
	return &waitingClient{made, c.engine}, nil
}

// waitingClient is a client whose writes are in the cache when they return.
type waitingClient struct {
	client.Client
	engine *engine
}

// Create implements client.Writer.
func (c *waitingClient) Create(ctx context.Context, object client.Object, options ...client.CreateOption) error {
	if err := c.Client.Create(ctx, object, options...); err != nil {
		return err
	}
	return c.waitWritten(ctx, object)
}

// Update implements client.Writer.
func (c *waitingClient) Update(ctx context.Context, object client.Object, options ...client.UpdateOption) error {
	if err := c.checkWhole(object, ""); err != nil {
		return err
	}
	if err := c.Client.Update(ctx, object, options...); err != nil {
		return err
	}
	return c.waitWritten(ctx, object)
}

// checkWhole returns an error if an update of an object, or of a subresource of it, would clear what the cache does not
// keep. A subresource is taken to be the field of its name.
func (c *waitingClient) checkWhole(object client.Object, subresource string) error {
	gvk, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	kept, some := c.engine.settings.fields[gvk]
	if below, ok := kept[subresource]; !some || ok && len(below) == 0 {
		return nil
	}
	return fmt.Errorf("updating %s %s: %w", gvk.Kind, client.ObjectKeyFromObject(object), errNotWhole)
}

// Patch implements client.Writer.
func (c *waitingClient) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.PatchOption) error {
	if err := c.Client.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	return c.waitWritten(ctx, object)
}

// Apply implements client.Writer.
func (c *waitingClient) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
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
func (c *waitingClient) Delete(ctx context.Context, object client.Object, options ...client.DeleteOption) error {
	given := client.DeleteOptions{}
	given.ApplyOptions(options)
	before := c.versionsShown(object)
	if err := c.Client.Delete(ctx, object, options...); err != nil || len(given.DryRun) > 0 {
		return err
	}
	return c.waitShown(ctx, object, func(s *stream) bool { return s.showsDeletionLocked(object, before[s]) })
}

// Status implements client.StatusClient.
func (c *waitingClient) Status() client.SubResourceWriter { return c.SubResource("status") }

// SubResource implements client.SubResourceClientConstructor.
func (c *waitingClient) SubResource(name string) client.SubResourceClient {
	return &waitingSubResource{c.Client.SubResource(name), c, name}
}

// waitingSubResource waits as waitingClient does, but for Create, which makes something else.
type waitingSubResource struct {
	client.SubResourceClient
	client *waitingClient
	name   string
}

// Update implements client.SubResourceWriter.
func (c *waitingSubResource) Update(ctx context.Context, object client.Object, options ...client.SubResourceUpdateOption) error {
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
func (c *waitingSubResource) Patch(ctx context.Context, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption) error {
	if err := c.SubResourceClient.Patch(ctx, object, patch, options...); err != nil {
		return err
	}
	return c.waitForBody(ctx, object, (&client.SubResourcePatchOptions{}).ApplyOptions(options).SubResourceBody)
}

// Apply implements client.SubResourceWriter.
func (c *waitingSubResource) Apply(ctx context.Context, object runtime.ApplyConfiguration, options ...client.SubResourceApplyOption) error {
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
func (c *waitingSubResource) waitForBody(ctx context.Context, object, body client.Object) error {
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
func (c *waitingClient) waitWritten(ctx context.Context, object client.Object) error {
	if object.GetResourceVersion() == "" {
		return nil
	}
	return c.waitShown(ctx, object, func(s *stream) bool { return s.showsLocked(object) })
}

// waitShown waits until each stream that has the object's namespace shows what was written.
func (c *waitingClient) waitShown(ctx context.Context, object client.Object, isShown func(*stream) bool) error {
	if !isClosed(c.engine.started) {
		return nil // nobody can read it yet
	}
	ctx, cancel := context.WithTimeout(ctx, c.engine.settings.own.WriteTimeout)
	defer cancel()
	for _, s := range c.streamsOf(object) {
		if err := s.waitUntil(ctx, c.engine.ended, isShown); err != nil {
			return fmt.Errorf("writing %s %s: %w", s.kind.key.GVK.Kind, client.ObjectKeyFromObject(object), err)
		}
	}
	return nil
}

// streamsOf returns the streams of all flavors that have the namespace of an object.
func (c *waitingClient) streamsOf(object client.Object) (list []*stream) {
	gvk, err := apiutil.GVKForObject(object, c.engine.settings.scheme)
	if err != nil {
		gvk = object.GetObjectKind().GroupVersionKind()
	}
	for _, f := range []flavor{typed, unstructuredOnly, metadataOnly} {
		if s := c.engine.streamFor(gvk, f, object.GetNamespace()); s != nil {
			list = append(list, s)
		}
	}
	return list
}

// streamFor returns the stream of a kind that has a namespace, or nil.
func (e *engine) streamFor(gvk schema.GroupVersionKind, f flavor, namespace string) *stream {
	k := e.kindOf(kindKey{GVK: gvk, flavor: f})
	if k == nil {
		return nil
	}
	return k.streamOf(namespace)
}

// versionsShown returns the resourceVersion that each stream has of an object, before it is deleted.
func (c *waitingClient) versionsShown(object client.Object) map[*stream]string {
	versions := map[*stream]string{}
	for _, s := range c.streamsOf(object) {
		s.kind.mu.RLock()
		versions[s] = versionOf(s.findLocked(object))
		s.kind.mu.RUnlock()
	}
	return versions
}

// waitUntil waits until something is shown, the stream is refused or its cache has ended.
func (s *stream) waitUntil(ctx context.Context, ended <-chan struct{}, isShown func(*stream) bool) error {
	for {
		s.kind.mu.Lock()
		if s.refusal != nil || s.synced && isShown(s) {
			s.kind.mu.Unlock()
			return nil
		}
		if s.advanced == nil {
			s.advanced = make(chan struct{})
		}
		advanced := s.advanced
		s.kind.mu.Unlock()
		select {
		case <-advanced:
		case <-ended:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNotShown, context.Cause(ctx))
		}
	}
}

// findLocked returns the stored object of the same name, or nil.
func (s *stream) findLocked(object client.Object) any {
	found, _, err := s.indexer.Get(object)
	if err != nil {
		return nil
	}
	return found
}

// showsLocked reports whether the stream has come to a written object, or has no part in it.
func (s *stream) showsLocked(object client.Object) bool {
	if isReached(s.progress, object.GetResourceVersion()) {
		return true
	}
	if found := s.findLocked(object); found != nil {
		return isReached(versionOf(found), object.GetResourceVersion())
	}
	return s.selector.Evaluate(object) != objectstore.Selected
}

// showsDeletionLocked reports whether the object is gone, or on its way. before is what was shown of it when it was
// deleted.
func (s *stream) showsDeletionLocked(object client.Object, before string) bool {
	found := s.findLocked(object)
	if found == nil { // the stream may not have come to the object yet
		version := object.GetResourceVersion()
		return before != "" || version == "" || isReached(s.progress, version) || s.selector.Evaluate(object) != objectstore.Selected
	}
	accessor, err := meta.Accessor(found)
	return err != nil || accessor.GetDeletionTimestamp() != nil || object.GetUID() != "" && accessor.GetUID() != object.GetUID()
}

// isReached reports whether one resourceVersion is another one, or is known to be later.
func isReached(version, wanted string) bool {
	if version == wanted {
		return wanted != ""
	}
	order, err := resourceversion.CompareResourceVersion(version, wanted)
	return err == nil && order >= 0
}
