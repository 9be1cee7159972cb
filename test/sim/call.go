package sim

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// call is a request being handled. The server's mu is held all the time.
type call struct {
	*Server
	Request
	resource *resource
	served   *version
	internal bool // of the server's own controllers
}

// do sends a request: work handles it under the lock, if it is permitted and its
// resource is served.
func (s *Server) do(ctx context.Context, r Request, work func(*call) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("%s %s: %w", r.Verb, r.Resource.Resource, err)
	}
	if err := s.options.Faults.Before(ctx, r); err != nil {
		return err
	}
	return s.options.Faults.After(ctx, r, s.handle(r, work))
}

func (s *Server) handle(r Request, work func(*call) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.permitLocked(r); err != nil {
		return err
	}
	c := &call{Server: s, Request: r, resource: s.resources[r.Resource.GroupResource()]}
	if c.resource != nil {
		c.served = c.resource.versionNamed(r.Resource.Version)
	}
	if err := c.find(); err != nil {
		return err
	}
	s.handled.Request = r
	defer func() { s.handled = Change{} }()
	return work(c)
}

// find checks that the path of the request leads somewhere.
func (c *call) find() error {
	if c.served == nil || c.Namespace != "" && !c.resource.namespaced {
		return c.errNoSuchPath()
	}
	if c.resource.namespaced && c.Namespace == "" {
		switch c.Verb {
		case "list", "watch":
		case "create":
			if c.resource.definition == "" {
				return errNoSuchMethod(c.Request)
			}
			return c.errNoSuchPath()
		default:
			return c.errNoSuchPath()
		}
	}
	if c.Subresource == "" || c.Subresource == "status" && c.served.status {
		return nil
	}
	if c.resource.definition != "" {
		return apierrors.NewNotFound(c.Resource.GroupResource(), c.Name)
	}
	return c.errNoSuchPath()
}

// errNoSuchPath is how client-go reads an answer that is not the API's. That of a group
// without built-in kinds has a text.
func (c *call) errNoSuchPath() error {
	err := apierrors.NewGenericServerResponse(http.StatusNotFound, c.httpVerb(), c.gr(), c.Name, "", 0, false)
	err.ErrStatus.Message, err.ErrStatus.Details = "the server could not find the requested resource", &metav1.StatusDetails{}
	for _, r := range c.resources {
		if r.group == c.Resource.Group && r.definition == "" {
			return err
		}
	}
	err.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeUnexpectedServerResponse, Message: "404 page not found"}}
	return err
}

func errNoSuchMethod(r Request) error {
	err := apierrors.NewGenericServerResponse(http.StatusMethodNotAllowed, r.httpVerb(), r.Resource.GroupResource(), r.Name, "", 0, false)
	err.ErrStatus.Message, err.ErrStatus.Details = "the server does not allow this method on the requested resource", &metav1.StatusDetails{}
	return err
}

func (r Request) httpVerb() string {
	switch r.Verb {
	case "create":
		return "POST"
	case "update":
		return "PUT"
	case "patch":
		return "PATCH"
	case "delete", "deletecollection":
		return "DELETE"
	}
	return "GET"
}

// gr is the resource of the request, for errors.
func (c *call) gr() schema.GroupResource { return c.Resource.GroupResource() }

func (c *call) key(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: c.Namespace, Name: name}
}

// live returns the object of a name in the stored version; nil if there is none. It
// must not be changed.
func (c *call) live(name string) *unstructured.Unstructured { return c.resource.objects[c.key(name)] }

// answer is the object in the version of the request. The caller owns it.
func (c *call) answer(obj *unstructured.Unstructured) *unstructured.Unstructured {
	return inVersion(obj, c.served.gvk).DeepCopy()
}

// notFound is a 404.
func (c *call) notFound(name string) error { return apierrors.NewNotFound(c.gr(), name) }

// storageKey is the key of an object in etcd, which some errors quote.
func (c *call) storageKey(name string) string {
	parts := []string{"", "registry"}
	if c.resource.definition != "" || c.Resource.Group != "" && strings.Contains(c.Resource.Group, ".") && !strings.HasSuffix(c.Resource.Group, ".k8s.io") {
		parts = append(parts, c.Resource.Group)
	}
	parts = append(parts, c.Resource.Resource)
	if c.Namespace != "" {
		parts = append(parts, c.Namespace)
	}
	return strings.Join(append(parts, name), "/")
}
