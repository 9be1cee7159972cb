package e2e

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// engineUsers are the identities of the stories about places, records and scopes.
func engineUsers() []string {
	return []string{"elsewhere", "marks", "held", "cluster-owner", "unwanted", "ensure", "scope-selector", "seen", "unseen", "terminating", "filter-fails", "hostile", "versions", "edited-narrow"}
}

// copies is the policy of these stories: for each Memcached a ConfigMap of its name in
// each namespace that its annotation `copies` lists.
func copies(t *testing.T, more string) *policy.Program {
	t.Helper()
	return program(t, "copies.yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: copies, namespace: ambit-system}
spec:
  owner:
    apiVersion: cache.example.com/v1alpha1
    kind: Memcached
    filter: "!has(object.metadata.labels) || !('unwanted' in object.metadata.labels)"
  children:
    - id: copies
      forEach: {as: target, in: "owner.metadata.?annotations[?'copies'].orValue('').split(',').filter(n, n != '')"}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}", namespace: "${target}"}
        data: {size: "${string(owner.spec.size)}"}
%s`, more))
}

// homeRights are those that the policy needs where its owners are.
func homeRights() []rbacv1.PolicyRule {
	rules := rightsOn("memcacheds", "memcacheds/status")
	rules[0] = *rules[0].DeepCopy()
	rules[0].Verbs = append(rules[0].Verbs, "patch")
	return rules
}

// copiesTo makes an owner with copies in these namespaces.
func (w *world) copiesTo(namespace, name string, targets ...string) *unstructured.Unstructured {
	w.t.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": name, "annotations": map[string]any{"copies": strings.Join(targets, ",")}},
		"spec":     map[string]any{"size": int64(1)},
	}}
	made, err := w.objects.Resource(memcacheds).Namespace(namespace).Create(w.t.Context(), owner, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatalf("creating owner %s/%s: %v", namespace, name, err)
	}
	return made
}

func (w *world) patchOwner(namespace, name, patch string) {
	w.t.Helper()
	if _, err := w.objects.Resource(memcacheds).Namespace(namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.t.Fatalf("changing owner %s/%s: %v", namespace, name, err)
	}
}

// copyHas waits until a copy is there with a size.
func (w *world) copyHas(namespace, name, size string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("ConfigMap %s/%s has size %s", namespace, name, size), func(ctx context.Context) error {
		found, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && found.Data["size"] != size {
			err = fmt.Errorf("it has %q", found.Data["size"])
		}
		return err
	})
}

func (w *world) noCopy(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("ConfigMap %s/%s is gone", namespace, name), func(ctx context.Context) error {
		_, err := w.typed.CoreV1().ConfigMaps(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

func (w *world) ownerGone(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("owner %s/%s is gone", namespace, name), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = fmt.Errorf("it is there: finalizers %v, status %v", owner.GetFinalizers(), owner.Object["status"])
		}
		return err
	})
}

// ownerUnmarked waits until an owner carries nothing of ours in its metadata.
func (w *world) ownerUnmarked(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("owner %s/%s carries no mark", namespace, name), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err == nil && (len(owner.GetFinalizers()) > 0 || owner.GetAnnotations()[v1alpha1.AnnotationChildren] != "") {
			err = fmt.Errorf("finalizers %v, annotations %v", owner.GetFinalizers(), owner.GetAnnotations())
		}
		return err
	})
}

var errCut = errors.New("the process is gone")

// cut is a process that ends in the middle of a request: at that one, and after it,
// nothing reaches the API server any more. Safe for concurrent use.
type cut struct {
	matches  func(*http.Request) bool
	answered bool // the request is carried out, and its answer is lost

	mu   sync.Mutex
	gone bool
	ch   chan struct{} // closed at the cut
}

// config is one whose requests end at the cut.
func (c *cut) config(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	c.ch = make(chan struct{})
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) { return c.roundTrip(next, r) })
	})
	return config
}

func (c *cut) roundTrip(next http.RoundTripper, r *http.Request) (*http.Response, error) {
	c.mu.Lock()
	now := !c.gone && c.matches(r)
	before := c.gone
	c.gone = c.gone || now
	c.mu.Unlock()
	if before {
		return nil, errCut
	}
	if !now {
		return next.RoundTrip(r)
	}
	defer close(c.ch)
	if c.answered {
		if response, err := next.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
	}
	return nil, errCut
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// isRequest says whether a request has this method, and a path that ends in this.
func isRequest(method, suffix string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.Method == method && strings.HasSuffix(r.URL.Path, suffix) }
}
