package sim

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"
)

// Client talks to the server as a user. It is immutable.
type Client struct {
	server *Server
	user   string
	// impersonated is empty, or who the user acts as.
	impersonated string
	process      string
	// agent is the field manager of requests that name none.
	agent string
}

// Admin is the user who may do everything.
const Admin = "admin"

// As returns a client of a user. Whoever asks is authenticated; a name such as
// "system:serviceaccount:NAMESPACE:NAME" has the groups of ServiceAccounts.
func (s *Server) As(user string) *Client { return &Client{server: s, user: user, agent: "sim"} }

// Impersonate returns a client that acts as another user, which each request needs the
// right for.
func (c *Client) Impersonate(user string) *Client {
	other := *c
	other.impersonated = user
	return &other
}

// Named returns a client of one process: its requests say so.
func (c *Client) Named(process string) *Client {
	other := *c
	other.process = process
	return &other
}

// Dynamic returns the client of whole objects.
func (c *Client) Dynamic() dynamic.Interface { return dynamicClient{c} }

// CreateYAML creates the object that a text is of, in the namespace that it says.
func (c *Client) CreateYAML(ctx context.Context, text string) error {
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &obj.Object); err != nil {
		return err
	}
	mapping, err := c.Mapper().RESTMapping(obj.GroupVersionKind().GroupKind())
	if err != nil {
		return err
	}
	_, err = c.Dynamic().Resource(mapping.Resource).Namespace(obj.GetNamespace()).Create(ctx, obj, metav1.CreateOptions{})
	return err
}

// request is a request of the client.
func (c *Client) request(verb string, resource schema.GroupVersionResource, namespace, name string, subresources ...string) Request {
	r := Request{User: c.user, Impersonated: c.impersonated, Process: c.process, Verb: verb, Resource: resource, Namespace: namespace, Name: name}
	if len(subresources) > 0 {
		r.Subresource = subresources[0]
	}
	return r
}

// dynamicClient implements dynamic.Interface.
type dynamicClient struct{ *Client }

var _ dynamic.Interface = dynamicClient{}

// Resource implements dynamic.Interface.
func (c dynamicClient) Resource(gvr schema.GroupVersionResource) dynamic.NamespaceableResourceInterface {
	return objects{Client: c.Client, resource: gvr}
}

// objects implements dynamic.NamespaceableResourceInterface.
type objects struct {
	*Client
	resource  schema.GroupVersionResource
	namespace string
}

// Namespace implements dynamic.NamespaceableResourceInterface.
func (o objects) Namespace(namespace string) dynamic.ResourceInterface {
	o.namespace = namespace
	return o
}

var errNoName = fmt.Errorf("name is required")

// asSent is a copy of an object as it comes out of JSON: whole numbers are int64.
func asSent(obj *unstructured.Unstructured) *unstructured.Unstructured {
	content, _ := sent(obj.Object).(map[string]any)
	return &unstructured.Unstructured{Object: content}
}

func sent(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, inner := range v {
			out[key] = sent(inner)
		}
		return out
	case []any:
		if v == nil {
			return nil
		}
		out := make([]any, len(v))
		for i, inner := range v {
			out[i] = sent(inner)
		}
		return out
	case float64:
		if whole := int64(v); float64(whole) == v {
			return whole
		}
	case int:
		return int64(v)
	case int32:
		return int64(v)
	}
	return value
}

// one sends a request that is answered with an object.
func (o objects) one(ctx context.Context, r Request, work func(*call) (*unstructured.Unstructured, error)) (answer *unstructured.Unstructured, err error) {
	err = o.server.do(ctx, r, func(c *call) (err error) {
		answer, err = work(c)
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Create implements dynamic.ResourceInterface.
func (o objects) Create(ctx context.Context, obj *unstructured.Unstructured, opts metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	obj = asSent(obj)
	r := o.request("create", o.resource, o.namespace, obj.GetName(), subresources...)
	return o.one(ctx, r, func(c *call) (*unstructured.Unstructured, error) {
		return c.create(obj, intentOf(managerName(opts.FieldManager, o.agent), opts.FieldValidation, opts.DryRun))
	})
}

// Update implements dynamic.ResourceInterface.
func (o objects) Update(ctx context.Context, obj *unstructured.Unstructured, opts metav1.UpdateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if obj.GetName() == "" {
		return nil, errNoName
	}
	obj = asSent(obj)
	r := o.request("update", o.resource, o.namespace, obj.GetName(), subresources...)
	return o.one(ctx, r, func(c *call) (*unstructured.Unstructured, error) {
		return c.update(obj, intentOf(managerName(opts.FieldManager, o.agent), opts.FieldValidation, opts.DryRun))
	})
}

// UpdateStatus implements dynamic.ResourceInterface.
func (o objects) UpdateStatus(ctx context.Context, obj *unstructured.Unstructured, opts metav1.UpdateOptions) (*unstructured.Unstructured, error) {
	return o.Update(ctx, obj, opts, "status")
}

// Delete implements dynamic.ResourceInterface.
func (o objects) Delete(ctx context.Context, name string, opts metav1.DeleteOptions, subresources ...string) error {
	if name == "" {
		return errNoName
	}
	r := o.request("delete", o.resource, o.namespace, name, subresources...)
	return o.server.do(ctx, r, func(c *call) error { return c.delete(name, opts) })
}

// DeleteCollection implements dynamic.ResourceInterface.
func (o objects) DeleteCollection(ctx context.Context, opts metav1.DeleteOptions, list metav1.ListOptions) error {
	r := o.request("deletecollection", o.resource, o.namespace, "")
	return o.server.do(ctx, r, func(c *call) error { return c.deleteAll(opts, list) })
}

// Get implements dynamic.ResourceInterface.
func (o objects) Get(ctx context.Context, name string, _ metav1.GetOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, errNoName
	}
	r := o.request("get", o.resource, o.namespace, name, subresources...)
	return o.one(ctx, r, func(c *call) (*unstructured.Unstructured, error) { return c.get(name) })
}

// List implements dynamic.ResourceInterface.
func (o objects) List(ctx context.Context, opts metav1.ListOptions) (answer *unstructured.UnstructuredList, err error) {
	err = o.server.do(ctx, o.collection("list", opts), func(c *call) error {
		found, err := c.list(opts)
		if err == nil {
			answer = found.objects(c.served)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// Watch implements dynamic.ResourceInterface.
func (o objects) Watch(ctx context.Context, opts metav1.ListOptions) (watch.Interface, error) {
	return o.watch(ctx, opts, false)
}

func (o objects) watch(ctx context.Context, opts metav1.ListOptions, metadata bool) (answer watch.Interface, err error) {
	err = o.server.do(ctx, o.collection("watch", opts), func(c *call) (err error) {
		answer, err = c.watch(ctx, opts, metadata)
		return err
	})
	if err != nil {
		if answer != nil {
			answer.Stop() // the answer was lost
		}
		return nil, err
	}
	return answer, nil
}

// collection is a list or a watch. One that is limited to a name needs the right to
// that only.
func (o objects) collection(verb string, opts metav1.ListOptions) Request {
	return o.request(verb, o.resource, o.namespace, nameIn(opts.FieldSelector))
}

// Patch implements dynamic.ResourceInterface.
func (o objects) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, errNoName
	}
	manager := opts.FieldManager
	if kind != types.ApplyPatchType {
		manager = managerName(manager, o.agent)
	}
	r := o.request("patch", o.resource, o.namespace, name, subresources...)
	return o.one(ctx, r, func(c *call) (*unstructured.Unstructured, error) {
		return c.patch(kind, data, opts.Force != nil && *opts.Force, intentOf(manager, opts.FieldValidation, opts.DryRun))
	})
}

// Apply implements dynamic.ResourceInterface.
func (o objects) Apply(ctx context.Context, name string, obj *unstructured.Unstructured, opts metav1.ApplyOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if name == "" {
		return nil, errNoName
	}
	if obj.GetManagedFields() != nil {
		return nil, fmt.Errorf(`cannot apply an object with managed fields already set. Use the client-go/applyconfigurations "UnstructructuredExtractor" to obtain the unstructured ApplyConfiguration for the given field manager that you can use/modify here to apply`)
	}
	data, err := json.Marshal(obj.Object)
	if err != nil {
		return nil, err
	}
	return o.Patch(ctx, name, types.ApplyPatchType, data, opts.ToPatchOptions(), subresources...)
}

// ApplyStatus implements dynamic.ResourceInterface.
func (o objects) ApplyStatus(ctx context.Context, name string, obj *unstructured.Unstructured, opts metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	return o.Apply(ctx, name, obj, opts, "status")
}
