package manager

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/policytext"
	"github.com/ambit-dev/ambit/test/poll"
)

const patience = 2 * time.Minute

var memcacheds = schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}

// world is a namespace in which a test runs Ambit.
type world struct {
	*testing.T
	admin     kubernetes.Interface
	objects   dynamic.Interface
	namespace string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, namespace: control.Cluster(t).Namespace(t.Context(), t, "manager")}
	var err error
	if w.admin, err = kubernetes.NewForConfig(control.Cluster(t).Admin()); err != nil {
		t.Fatal(err)
	}
	if w.objects, err = dynamic.NewForConfig(control.Cluster(t).Admin()); err != nil {
		t.Fatal(err)
	}
	return w
}

func rule(group, resources string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{group}, Resources: []string{resources}, Verbs: verbs}
}

// memcachedRights are what the Memcached policy needs.
func memcachedRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("cache.example.com", "memcacheds", "list", "watch"), rule("cache.example.com", "memcacheds/status", "patch"),
		rule("apps", "deployments", "create", "delete", "get", "list", "patch", "watch"), rule("", "pods", "list", "watch"),
	}
}

// electionRights are what leader election needs.
func electionRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		rule("coordination.k8s.io", "leases", "get", "create", "update"),
		rule("", "configmaps", "get", "create", "delete", "watch"), rule("", "pods", "get"),
	}
}

// grant gives a user rights in the namespace, which the API server knows of when grant
// returns: it decides by a cache. The result takes them back.
func (w *world) grant(name string, rules ...rbacv1.PolicyRule) (revoke func()) {
	w.Helper()
	return w.grantUser(ambit, name, rules...)
}

// grantTo is grant to another user.
func (w *world) grantTo(user string, rules ...rbacv1.PolicyRule) {
	w.Helper()
	w.grantUser(user, user, rules...)
}

func (w *world) grantUser(user, name string, rules ...rbacv1.PolicyRule) (revoke func()) {
	w.Helper()
	rbac := w.admin.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := rbac.Roles(w.namespace).Create(w.Context(), role, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	if _, err := rbac.RoleBindings(w.namespace).Create(w.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	control.Cluster(w).Decided(w.Context(), w, user, w.namespace, true, rules...)
	return func() {
		if err := rbac.RoleBindings(w.namespace).Delete(w.Context(), name, metav1.DeleteOptions{}); err != nil {
			w.Fatal(err)
		}
	}
}

// grantCluster gives a subject rights everywhere, for as long as the test runs.
func (w *world) grantCluster(name string, subject rbacv1.Subject, rules ...rbacv1.PolicyRule) {
	w.Helper()
	rbac := w.admin.RbacV1()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
	if _, err := rbac.ClusterRoles().Create(w.Context(), role, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Subjects: []rbacv1.Subject{subject},
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
	}
	if _, err := rbac.ClusterRoleBindings().Create(w.Context(), binding, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		ctx := context.WithoutCancel(w.Context())
		err := errors.Join(rbac.ClusterRoleBindings().Delete(ctx, name, metav1.DeleteOptions{}), rbac.ClusterRoles().Delete(ctx, name, metav1.DeleteOptions{}))
		if err != nil {
			w.Error(err)
		}
	})
}

func (w *world) createOwner(name string) {
	w.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
		"metadata": map[string]any{"name": name}, "spec": map[string]any{"size": int64(1)},
	}}
	if _, err := w.objects.Resource(memcacheds).Namespace(w.namespace).Create(w.Context(), owner, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// running is Ambit at work.
type running struct {
	*world
	stop func()
	done chan struct{} // closed when it has ended
	err  error         // set then
}

// run runs Ambit until stop is called, or the test ends.
func (w *world) run(o Options) *running {
	w.Helper()
	if o.Config == nil {
		o.Config = control.Cluster(w).User(ambit)
	}
	o.Logger = w.newLogger()
	ctx, cancel := context.WithCancel(context.WithoutCancel(w.Context()))
	r := &running{world: w, done: make(chan struct{})}
	go func() {
		defer close(r.done)
		r.err = Run(ctx, o)
	}()
	r.stop = func() {
		cancel()
		<-r.done
	}
	w.Cleanup(r.stop)
	return r
}

// newLogger logs until the test ends. A goroutine of controller-runtime's manager that stops logs once more after Start has
// returned, and a test that has ended must not be told.
func (w *world) newLogger() logr.Logger {
	var mu sync.Mutex
	isOver := false
	w.Cleanup(func() {
		mu.Lock()
		defer mu.Unlock()
		isOver = true
	})
	return funcr.New(func(prefix, args string) {
		mu.Lock()
		defer mu.Unlock()
		if !isOver {
			w.Log(prefix, args)
		}
	}, funcr.Options{Verbosity: 1})
}

// ends waits until it has ended by itself, and returns why.
func (r *running) ends() error {
	r.Helper()
	select {
	case <-r.done:
		return r.err
	case <-time.After(patience):
		r.Fatal("it goes on")
		return nil
	}
}

// answer is what a server says.
type answer struct {
	code  int
	text  string
	proto string
}

// get asks once; an error means that nobody answers.
func get(ctx context.Context, url, token string) (answer, error) {
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return answer{code: response.StatusCode, text: string(body), proto: response.Proto}, err
}

// says waits until a server answers with a code, and returns what it says.
func (w *world) says(url, token string, code int) (got answer) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s answers with %d", url, code), func(ctx context.Context) (err error) {
		if got, err = get(ctx, url, token); err == nil && got.code != code {
			err = fmt.Errorf("it answers with %d: %s", got.code, got.text)
		}
		return err
	})
	return got
}

func (w *world) eventually(what string, check func(context.Context) error) {
	w.Helper()
	last := errors.New("it was never looked at")
	err := poll.Until(w.Context(), patience, func(ctx context.Context) (bool, error) {
		if err := check(ctx); ctx.Err() == nil {
			last = err
		}
		return last == nil, nil
	})
	if err != nil {
		w.Fatalf("waiting until %s: %v", what, last)
	}
}

func memcached(t *testing.T) *policy.Program {
	t.Helper()
	return compiled(t, "../../policies/memcached.yaml")
}

func compiled(t *testing.T, file string) *policy.Program {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return compileText(t, string(data))
}

func compileText(t *testing.T, text string) *policy.Program {
	t.Helper()
	return policytext.Compile(t, "policy.yaml", text)
}
