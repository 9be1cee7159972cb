package scopedcache

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/ambit-dev/ambit/pkg/access"
	"github.com/ambit-dev/ambit/pkg/informer"
	"github.com/ambit-dev/ambit/pkg/scopedcache/streamstore"
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
	return fmt.Sprintf("cannot %s %s%s as %s", strings.Join(access.VerbsOf(e.Missing), ", "), e.firstResource(), where, identity)
}

func (e *DeniedError) firstResource() schema.GroupResource { return resourceOf(e.Missing[0]) }

func resourceOf(a access.Access) schema.GroupResource {
	return schema.GroupResource{Group: a.Group, Resource: a.Resource}
}

// Status implements apierrors.APIStatus.
func (e *DeniedError) Status() metav1.Status {
	resource := e.firstResource()
	return metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: e.Error(),
		Details: &metav1.StatusDetails{Group: resource.Group, Kind: resource.Resource},
	}
}

// errLeft is why there is nothing to read in a stream that is not watched any more.
var errLeft = errors.New("it is not watched any more")

// objectsOf waits until a stream is synced or refused, and returns its objects, or what a read of it fails with.
func (c *parts) objectsOf(ctx context.Context, s *streamstore.Stream) (toolscache.Indexer, error) {
	indexer, refused, err := s.AwaitObjects(ctx)
	if refused != nil {
		err = c.readError(s, refused)
	}
	return indexer, err
}

// namespacesDenied returns what a read of the namespaces fails with, nil if nothing is refused.
func (c *parts) namespacesDenied() error {
	if s, refused := c.registry.NamespacesRefused(); refused != nil {
		return c.readError(s, refused)
	}
	return nil
}

// readError returns what a read of a stream fails with that was refused so.
func (c *parts) readError(s *streamstore.Stream, r *streamstore.Refusal) error {
	key, gvk := s.InformerInterest().Key, s.Kind.GVK
	switch {
	case r.State == informer.Unauthenticated && r.Err != nil: // nobody knows what is missing
		return fmt.Errorf("watching %s: %w", key.String(), r.Err)
	case r.IsDenied():
		identity := r.Identity
		if identity == "" {
			identity = c.identity.userName()
		}
		return &DeniedError{Missing: r.Missing, Namespace: s.RequestNamespace, Identity: identity, Since: r.Since}
	case r.State == informer.Missing:
		return &meta.NoKindMatchError{GroupKind: gvk.GroupKind(), SearchedVersions: []string{gvk.Version}}
	case r.Err != nil:
		return fmt.Errorf("watching %s: %w", key.String(), r.Err)
	case r.State != informer.Stopped:
		return fmt.Errorf("watching %s: it is %s", key.String(), r.State)
	}
	return fmt.Errorf("reading %s: %w", key.String(), errLeft)
}

// logChange says that something cannot be read, or that it can again.
func (c *parts) logChange(change Change) {
	logger := c.logger.WithValues("kind", change.GVK.Kind, "group", change.GVK.Group, "namespace", change.Namespace)
	switch {
	case change.IsLive():
		logger.Info("can be read again")
	case len(change.Missing) > 0:
		denied := DeniedError{Missing: change.Missing, Namespace: change.Namespace, Identity: c.identity.userName()}
		logger.Info("cannot be read", "reason", denied.Error())
	default:
		logger.Info("cannot be read", "reason", string(change.State))
	}
}

// Rules returns the least that a cache needs for what was asked of it so far, by namespace: a Role's rules, or a
// ClusterRole's for "". It says nothing of what a client writes, nor of what was granted. The cache is one of New;
// of another one nothing is known.
func Rules(of cache.Cache) map[string][]rbacv1.PolicyRule {
	c, ok := of.(*Cache)
	if !ok {
		return nil
	}
	resources := map[string]map[string][]string{} // by namespace and group
	for _, k := range c.registry.WatchedStores() {
		for _, s := range k.AllStreams() {
			at, gvr := s.RequestNamespace, k.Mapping.Resource
			if resources[at] == nil {
				resources[at] = map[string][]string{}
			}
			resources[at][gvr.Group] = append(resources[at][gvr.Group], gvr.Resource)
		}
	}
	rules := make(map[string][]rbacv1.PolicyRule, len(resources))
	for namespace, groups := range resources {
		for _, group := range slices.Sorted(maps.Keys(groups)) {
			slices.Sort(groups[group])
			rules[namespace] = append(rules[namespace], rbacv1.PolicyRule{
				APIGroups: []string{group}, Resources: slices.Compact(groups[group]), Verbs: []string{"list", "watch"},
			})
		}
	}
	return rules
}
