// Package objectclient makes dynamic clients that decode JSON once, where client-go's read each answer
// three times: for its kind, for its validity, and for its values.
package objectclient

import (
	"fmt"
	"net/http"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/jsonwalk"
)

// Client is a dynamic client. It is safe for concurrent use.
type Client struct {
	dynamic.Interface
	rest rest.Interface
}

// NewForConfigAndClient is dynamic.NewForConfigAndClient.
func NewForConfigAndClient(config *rest.Config, client *http.Client) (*Client, error) {
	config = dynamic.ConfigFor(config)
	config.GroupVersion, config.APIPath = nil, "/every-request-has-a-path-of-its-own"
	config.NegotiatedSerializer = negotiated{config.NegotiatedSerializer}
	requests, err := rest.UnversionedRESTClientForConfigAndClient(config, client)
	if err != nil {
		return nil, err
	}
	return &Client{dynamic.New(requests), requests}, nil
}

// RESTClient returns what the requests go through.
func (c *Client) RESTClient() rest.Interface { return c.rest }

// negotiated has a JSON serializer of its own.
type negotiated struct{ runtime.NegotiatedSerializer }

// SupportedMediaTypes implements runtime.NegotiatedSerializer.
func (n negotiated) SupportedMediaTypes() []runtime.SerializerInfo {
	infos := append([]runtime.SerializerInfo(nil), n.NegotiatedSerializer.SupportedMediaTypes()...)
	for i := range infos {
		if infos[i].MediaType == runtime.ContentTypeJSON {
			infos[i].Serializer = serializer{infos[i].Serializer}
		}
	}
	return infos
}

type serializer struct{ runtime.Serializer }

// Decode implements runtime.Decoder. For an Unstructured it makes what UnstructuredJSONScheme makes.
func (s serializer) Decode(data []byte, defaults *schema.GroupVersionKind, into runtime.Object) (runtime.Object, *schema.GroupVersionKind, error) {
	object, ok := into.(*unstructured.Unstructured)
	if !ok {
		return s.Serializer.Decode(data, defaults, into)
	}
	if err := jsonwalk.CheckJSON(data); err != nil {
		return nil, nil, err
	}
	w := jsonwalk.New(data)
	content, ok := w.ReadValue().(map[string]any)
	if !ok {
		return nil, nil, fmt.Errorf("decoding an object: this is none: %.20q", data)
	}
	if err := w.Err(); err != nil {
		return nil, nil, fmt.Errorf("decoding an object: %w", err)
	}
	object.Object = content
	kind := object.GroupVersionKind()
	if kind.Kind == "" {
		return nil, &kind, runtime.NewMissingKindErr(string(data))
	}
	return object, &kind, nil
}
