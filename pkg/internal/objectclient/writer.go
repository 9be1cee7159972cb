package objectclient

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// Writer creates and patches the objects of one resource, as the dynamic client does, with the same
// errors, but answers with what its decode makes of an object. It is safe for concurrent use if
// that is.
type Writer struct {
	client    rest.Interface
	path      []string
	namespace string
	decode    func(data []byte) (*unstructured.Unstructured, error)
}

// WriterOf returns a Writer of a resource, in a namespace if it is not empty. decode gets valid JSON
// (jsonwalk), which it must not keep.
func (c *Client) WriterOf(gvr schema.GroupVersionResource, namespace string, decode func(data []byte) (*unstructured.Unstructured, error)) Writer {
	return Writer{c.rest, ResourcePath(gvr, namespace), namespace, decode}
}

// ResourcePath returns the parts of the path of a resource, in a namespace if it is not empty.
func ResourcePath(gvr schema.GroupVersionResource, namespace string) []string {
	path := make([]string, 0, 6)
	if gvr.Group == "" {
		path = append(path, "api", gvr.Version)
	} else {
		path = append(path, "apis", gvr.Group, gvr.Version)
	}
	if namespace != "" {
		path = append(path, "namespaces", namespace)
	}
	return append(path, gvr.Resource)
}

// Create is that of dynamic.ResourceInterface. The object is not changed.
func (w Writer) Create(ctx context.Context, object *unstructured.Unstructured, opts metav1.CreateOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if len(subresources) > 0 {
		return nil, fmt.Errorf("creating subresource %q: only objects are created", subresources[0])
	}
	body, err := jsonwalk.EncodeJSON(object.Object)
	if err != nil {
		return nil, err
	}
	return w.sendRequest(ctx, w.client.Post().AbsPath(w.path...).SetHeader("Content-Type", runtime.ContentTypeJSON), body,
		metav1.PatchOptions{DryRun: opts.DryRun, FieldManager: opts.FieldManager, FieldValidation: opts.FieldValidation})
}

// Patch is that of dynamic.ResourceInterface.
func (w Writer) Patch(ctx context.Context, name string, kind types.PatchType, data []byte, opts metav1.PatchOptions, subresources ...string) (*unstructured.Unstructured, error) {
	if wrong := rest.IsValidPathSegmentName(name); name == "" || len(wrong) > 0 {
		return nil, fmt.Errorf("invalid name %q: %v", name, wrong) // .. would be all of them
	}
	request := w.client.Patch(kind).AbsPath(w.path...).Suffix(append([]string{name}, subresources...)...)
	return w.sendRequest(ctx, request, data, opts)
}

// answers are buffers of answers that were decoded.
var answers = sync.Pool{New: func() any { return &bytes.Buffer{} }}

// largestKept is the size, in bytes, of the largest buffer that is used again.
const largestKept = 64 << 10

func (w Writer) sendRequest(ctx context.Context, request *rest.Request, body []byte, opts metav1.PatchOptions) (*unstructured.Unstructured, error) {
	if wrong := rest.IsValidPathSegmentName(w.namespace); len(wrong) > 0 {
		return nil, fmt.Errorf("invalid namespace %q: %v", w.namespace, wrong)
	}
	setParams(request, opts)
	answer, err := request.SetHeader("Accept", runtime.ContentTypeJSON).Body(body).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer answer.Close()
	buffer := answers.Get().(*bytes.Buffer)
	buffer.Reset()
	defer func() {
		if buffer.Cap() <= largestKept {
			answers.Put(buffer)
		}
	}()
	if _, err := buffer.ReadFrom(answer); err != nil {
		return nil, fmt.Errorf("reading an answer: %w", err)
	}
	return w.decodeAnswer(buffer.Bytes())
}

// setParams gives a request the parameters that metav1.ParameterCodec makes of the options: by reflection, in an eighth of the
// processor time of a request.
func setParams(request *rest.Request, opts metav1.PatchOptions) {
	for _, dry := range opts.DryRun {
		request.Param("dryRun", dry)
	}
	if opts.Force != nil {
		request.Param("force", strconv.FormatBool(*opts.Force))
	}
	if opts.FieldManager != "" {
		request.Param("fieldManager", opts.FieldManager)
	}
	if opts.FieldValidation != "" {
		request.Param("fieldValidation", opts.FieldValidation)
	}
}

func (w Writer) decodeAnswer(data []byte) (*unstructured.Unstructured, error) {
	if err := jsonwalk.CheckJSON(data); err != nil {
		return nil, err
	}
	object, err := w.decode(data)
	if err == nil && object.GetKind() == "" {
		err = runtime.NewMissingKindErr(string(data))
	}
	return object, err
}
