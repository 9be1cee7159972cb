package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/poll"
)

var memcacheds = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}

// patience is how long a story waits for something that takes well under a
// second on a quiet machine. The controller manager pauses for longer and longer while its
// cache is behind its own writes, as on a busy one, and Pods wait for that.
const patience = 3 * time.Minute

// world is one story's view of the control plane.
type world struct {
	t       *testing.T
	control *cluster.Cluster
	user    string
	objects dynamic.Interface    // as admin
	typed   kubernetes.Interface // as admin
}

// newWorld is a view of the control plane that all stories share.
func newWorld(t *testing.T, user string) *world { return newWorldOn(t, control, user) }

func newWorldOn(t *testing.T, c *cluster.Cluster, user string) *world {
	t.Helper()
	w := &world{t: t, control: c, user: user}
	var err error
	if w.objects, err = dynamic.NewForConfig(w.control.Admin()); err != nil {
		t.Fatalf("making the admin's client: %v", err)
	}
	if w.typed, err = kubernetes.NewForConfig(w.control.Admin()); err != nil {
		t.Fatalf("making the admin's typed client: %v", err)
	}
	if err := w.control.Apply(t.Context(), read(t, "../../examples/memcached/crd.yaml")); err != nil {
		t.Fatalf("installing the kind: %v", err)
	}
	return w
}

// rights that the Memcached policy needs in each namespace.
func memcachedRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"create", "delete", "get", "list", "patch", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"list", "watch"}},
	}
}

// namespace makes a namespace in which the story's user has these rights.
func (w *world) namespace(rules ...rbacv1.PolicyRule) string {
	w.t.Helper()
	namespace := w.control.Namespace(w.t.Context(), w.t, w.user)
	if len(rules) > 0 {
		w.grant(namespace, rules...)
	}
	return namespace
}

func (w *world) grant(namespace string, rules ...rbacv1.PolicyRule) {
	w.t.Helper()
	rbac := w.typed.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "ambit"}, Rules: rules}
	if _, err := rbac.Roles(namespace).Create(w.t.Context(), role, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making a Role in %q: %v", namespace, err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "ambit"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "ambit"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: w.user}},
	}
	if _, err := rbac.RoleBindings(namespace).Create(w.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.t.Fatalf("making a RoleBinding in %q: %v", namespace, err)
	}
}

// run runs Ambit as the story's user until the returned function is called, or
// the test ends. The function may be called more than once.
func (w *world) run(namespaces []string, programs ...*policy.Program) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		done <- manager.Run(ctx, manager.Options{
			Config: w.control.User(w.user), Programs: programs, Namespaces: namespaces,
			Logger: testr.NewWithOptions(w.t, testr.Options{Verbosity: 0}),
		})
	}()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) { // stopped while it started
			w.t.Errorf("running Ambit: %v", err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

// eventually waits until check returns nil.
func (w *world) eventually(what string, check func(context.Context) error) {
	w.t.Helper()
	w.eventuallyWithin(patience, what, check)
}

// eventuallyWithin is eventually with a time of its own.
func (w *world) eventuallyWithin(limit time.Duration, what string, check func(context.Context) error) {
	w.t.Helper()
	last := errors.New("it was never looked at")
	// A check that is cut off by the end of the wait does not say what was wrong.
	err := poll.Until(w.t.Context(), limit, func(ctx context.Context) (bool, error) {
		if err := check(ctx); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		w.t.Fatalf("waiting until %s: %v", what, last)
	}
}

func (w *world) createOwner(namespace, name string, size int64) *unstructured.Unstructured {
	w.t.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"size": size},
	}}
	made, err := w.objects.Resource(memcacheds).Namespace(namespace).Create(w.t.Context(), owner, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatalf("creating owner %s/%s: %v", namespace, name, err)
	}
	return made
}

func (w *world) resize(namespace, name string, size int64) {
	w.t.Helper()
	patch := fmt.Sprintf(`{"spec":{"size":%d}}`, size)
	if _, err := w.objects.Resource(memcacheds).Namespace(namespace).Patch(w.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		w.t.Fatalf("changing the size of %s/%s: %v", namespace, name, err)
	}
}

func (w *world) deleteOwner(namespace, name string) {
	w.t.Helper()
	if err := w.objects.Resource(memcacheds).Namespace(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("deleting owner %s/%s: %v", namespace, name, err)
	}
}

func (w *world) owner(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	return w.objects.Resource(memcacheds).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
}

func (w *world) deployment(namespace, name string) *appsv1.Deployment {
	w.t.Helper()
	d, err := w.typed.AppsV1().Deployments(namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatalf("reading Deployment %s/%s: %v", namespace, name, err)
	}
	return d
}

// deploymentHas waits until the Deployment exists with so many replicas wanted
// and available.
func (w *world) deploymentHas(namespace, name string, replicas int32) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("Deployment %s/%s is %d/%d", namespace, name, replicas, replicas), func(ctx context.Context) error {
		d, err := w.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if *d.Spec.Replicas != replicas || d.Status.AvailableReplicas != replicas {
			return errorFunc(func() string {
				return fmt.Sprintf("%d wanted, %d available; %s", *d.Spec.Replicas, d.Status.AvailableReplicas, w.podsOf(d))
			})
		}
		return nil
	})
}

// errorFunc is an error whose text is made when it is read.
type errorFunc func() string

func (f errorFunc) Error() string { return f() }

// podsOf says what has become of a Deployment's Pods, for who reads why a story failed.
func (w *world) podsOf(d *appsv1.Deployment) string {
	ctx := w.t.Context()
	said := []string{fmt.Sprintf("conditions %v", d.Status.Conditions)}
	sets, err := w.typed.AppsV1().ReplicaSets(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Sprintf("no ReplicaSet can be listed: %v", err)
	}
	for i := range sets.Items {
		set := &sets.Items[i]
		said = append(said, fmt.Sprintf("ReplicaSet %s: %d made, %v", set.Name, set.Status.Replicas, set.Status.Conditions))
	}
	pods, err := w.typed.CoreV1().Pods(d.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Sprintf("no Pod can be listed: %v", err)
	}
	for i := range pods.Items {
		pod := &pods.Items[i]
		said = append(said, fmt.Sprintf("Pod %s on %q: %s, %v", pod.Name, pod.Spec.NodeName, pod.Status.Phase, pod.Status.Conditions))
	}
	return strings.Join(said, "; ")
}

func (w *world) gone(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("Deployment %s/%s is gone", namespace, name), func(ctx context.Context) error {
		_, err := w.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

// condition waits until the owner's condition has this status and, unless
// empty, this reason. It returns the condition's message.
func (w *world) condition(namespace, name, kind, status, reason string) (message string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s/%s is %s=%s %s", namespace, name, kind, status, reason), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		c := conditionOf(owner, kind)
		if c == nil || c["status"] != status || (reason != "" && c["reason"] != reason) {
			return fmt.Errorf("status is %v", owner.Object["status"])
		}
		message, _ = c["message"].(string)
		return nil
	})
	return message
}

// observed waits until Ambit has seen the owner's latest spec.
func (w *world) observed(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("%s/%s is observed", namespace, name), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		if seen, _, _ := unstructured.NestedInt64(owner.Object, "status", "observedGeneration"); seen != owner.GetGeneration() {
			return fmt.Errorf("observedGeneration %d, generation %d", seen, owner.GetGeneration())
		}
		return nil
	})
}

func conditionOf(owner *unstructured.Unstructured, kind string) map[string]any {
	list, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == kind {
			return c
		}
	}
	return nil
}

// program compiles the policies in a file.
func program(t *testing.T, file string, data []byte) *policy.Program {
	t.Helper()
	documents, err := syntax.Parse(file, data)
	if err != nil {
		t.Fatalf("reading %s: %v", file, err)
	}
	compiled, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatalf("compiling %s: %v", file, err)
	}
	return compiled
}

func memcached(t *testing.T) *policy.Program {
	return program(t, "memcached.yaml", read(t, "../../policies/memcached.yaml"))
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
