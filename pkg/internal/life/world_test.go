package life

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/go-logr/logr/testr"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/test/poll"
)

const (
	lockName = "the-leader"
	patience = 2 * time.Minute
)

// world is a namespace with Pods that nobody runs.
type world struct {
	*testing.T
	admin     kubernetes.Interface
	candidate kubernetes.Interface
	namespace string
	options   Options // of each lock, beside what it always has
}

// leastRights are what a lock needs; watching is what it can do without.
func leastRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get", "create", "delete"}},
	}
}

func watching() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"watch"}}
}

func newWorld(t *testing.T, rules ...rbacv1.PolicyRule) *world {
	t.Helper()
	w := &world{T: t, namespace: control.Cluster(t).Namespace(t.Context(), t, "life")}
	var err error
	if w.admin, err = kubernetes.NewForConfig(control.Cluster(t).Admin()); err != nil {
		t.Fatal(err)
	}
	if w.candidate, err = kubernetes.NewForConfig(control.Cluster(t).User(candidate)); err != nil {
		t.Fatal(err)
	}
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: candidate}, Rules: rules}
	if _, err := w.admin.RbacV1().Roles(w.namespace).Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: candidate},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: candidate},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: candidate}},
	}
	if _, err := w.admin.RbacV1().RoleBindings(w.namespace).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	control.Cluster(t).Decided(t.Context(), t, candidate, w.namespace, true, rules...) // what is refused is final for a lock
	return w
}

func (w *world) pod(name string) *corev1.Pod {
	w.Helper()
	var grace int64
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{TerminationGracePeriodSeconds: &grace, Containers: []corev1.Container{{Name: "c", Image: "none"}}},
	}
	w.eventually("the namespace has its ServiceAccount", func(ctx context.Context) error {
		made, err := w.admin.CoreV1().Pods(w.namespace).Create(ctx, pod, metav1.CreateOptions{})
		if err == nil {
			pod = made
		}
		return err
	})
	return pod
}

func (w *world) deletePod(name string) {
	w.Helper()
	var now int64
	if err := w.admin.CoreV1().Pods(w.namespace).Delete(w.Context(), name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		w.Fatal(err)
	}
}

func (w *world) ends(pod *corev1.Pod, phase corev1.PodPhase) {
	w.Helper()
	patch := []byte(`{"status":{"phase":"` + string(phase) + `","reason":"Evicted"}}`)
	if _, err := w.admin.CoreV1().Pods(w.namespace).Patch(w.Context(), pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
		w.Fatal(err)
	}
}

// lock is a candidate in a Pod.
func (w *world) lock(pod string) *Lock {
	o := w.options
	o.Client, o.Namespace, o.Pod, o.Name = w.candidate.CoreV1(), w.namespace, pod, lockName
	o.Look, o.Poll, o.Logger = 2*time.Second, 100*time.Millisecond, testr.New(w.T)
	return New(o)
}

// trying is a lock that tries in the background.
type trying struct {
	*world
	lock *Lock
	pod  string
	stop context.CancelFunc
	got  chan error
}

func (w *world) try(pod string) *trying {
	w.Helper()
	ctx, stop := context.WithCancel(w.Context())
	t := &trying{world: w, lock: w.lock(pod), pod: pod, stop: stop, got: make(chan error, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		t.got <- t.lock.AcquireLeadership(ctx)
	}()
	w.Cleanup(func() {
		stop()
		<-ended
	})
	return t
}

// leads waits until the lock is held.
func (t *trying) leads() {
	t.Helper()
	select {
	case err := <-t.got:
		if err != nil {
			t.Fatalf("%s: %v", t.pod, err)
		}
	case <-time.After(patience):
		t.Fatalf("%s does not become the leader", t.pod)
	}
}

// waits fails the test if the lock is held already. What it waits for is made sure of by
// the test before.
func (t *trying) waits() {
	t.Helper()
	select {
	case err := <-t.got:
		t.Fatalf("%s does not wait: %v", t.pod, err)
	default:
	}
}

// gives waits until the lock has given up, and returns why.
func (t *trying) gives() error {
	t.Helper()
	select {
	case err := <-t.got:
		if err == nil {
			t.Fatalf("%s leads", t.pod)
		}
		return err
	case <-time.After(patience):
		t.Fatalf("%s does not give up", t.pod)
		return nil
	}
}

// holder is the Pod that the ConfigMap belongs to; empty if there is none.
func (w *world) holder() string {
	w.Helper()
	found, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(w.Context(), lockName, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return ""
	}
	if err != nil {
		w.Fatal(err)
	}
	return podOf(found).Name
}

func (w *world) eventually(what string, check func(context.Context) error) {
	w.Helper()
	last := errors.New("it was never looked at")
	err := poll.Until(w.Context(), patience, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("waiting until %s: %v", what, last)
	}
}
