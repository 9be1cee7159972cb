package scopedcache

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
)

// DeniedError says that something may not be read. apierrors.IsForbidden is true for it.
type DeniedError struct {
	// Missing is what is denied, at least one access. Nobody may change it.
	Missing []access.Access
	// Namespace is where; "" is all of them, or a resource without namespaces.
	Namespace string
	// Identity is whose rights are missing; "" if the API server has not said that yet.
	Identity string
	// Since is when the denial was first seen.
	Since time.Time
}

var _ apierrors.APIStatus = &DeniedError{}

// Error implements error: cannot list, watch deployments.apps in namespace "a" as alice.
func (e *DeniedError) Error() string {
	where := ""
	if e.Namespace != "" {
		where = fmt.Sprintf(" in namespace %q", e.Namespace)
	}
	identity := e.Identity
	if identity == "" {
		identity = "this identity"
	}
	return fmt.Sprintf("cannot %s %s%s as %s", strings.Join(access.VerbsOf(e.Missing), ", "), e.resource(), where, identity)
}

func (e *DeniedError) resource() schema.GroupResource { return resourceOf(e.Missing[0]) }

func resourceOf(a access.Access) schema.GroupResource {
	return schema.GroupResource{Group: a.Group, Resource: a.Resource}
}

// Status implements apierrors.APIStatus.
func (e *DeniedError) Status() metav1.Status {
	resource := e.resource()
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: e.Error(),
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource},
	}
}

// errLeft is the refusal of a stream that is not watched any more.
var errLeft = errors.New("it is not watched any more")

// refusal is why a stream has no objects. It never changes.
type refusal struct {
	state informer.State
	since time.Time
	err   error // the answer of the API server; nil if an access review says so
	// missing is what is denied. The answer names one verb, an access review all of them.
	missing  []access.Access
	identity string // as the answer names it, or ""
	reviewed bool
}

// isDenied reports whether rights are missing.
func (r *refusal) isDenied() bool {
	return r != nil && (r.state == informer.Forbidden || r.state == informer.Unauthenticated)
}

// readError returns what a read of a stream fails with that was refused so.
func (s *stream) readError(r *refusal) error {
	switch {
	case r.state == informer.Unauthenticated && r.err != nil: // nobody knows what is missing
		return fmt.Errorf("watching %s: %w", s.informerKey.String(), r.err)
	case r.isDenied():
		identity := r.identity
		if identity == "" {
			identity = s.kind.identity.name()
		}
		return &DeniedError{Missing: r.missing, Namespace: s.requestNamespace, Identity: identity, Since: r.since}
	case r.state == informer.Missing:
		return &meta.NoKindMatchError{GroupKind: s.kind.key.GVK.GroupKind(), SearchedVersions: []string{s.kind.key.GVK.Version}}
	case r.err != nil:
		return fmt.Errorf("watching %s: %w", s.informerKey.String(), r.err)
	case r.state != informer.Stopped:
		return fmt.Errorf("watching %s: it is %s", s.informerKey.String(), r.state)
	}
	return fmt.Errorf("reading %s: %w", s.informerKey.String(), errLeft)
}

// forbiddenText is how the API server words a denial.
var forbiddenText = regexp.MustCompile(`User "([^"]*)" cannot (\w+) resource`)

// readDenial returns the identity and the verb in the answer of the API server, or "".
func readDenial(err error) (identity, verb string) {
	if err == nil {
		return "", ""
	}
	found := forbiddenText.FindStringSubmatch(err.Error())
	if found == nil {
		return "", ""
	}
	return found[1], found[2]
}
