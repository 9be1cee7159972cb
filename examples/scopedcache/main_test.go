package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/poll"
)

var control = cluster.NewLazy(cluster.Options{
	Audit: true, Users: map[string][]string{"operator": nil}, CRDs: []string{"../memcached/crd.yaml"},
})

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	goleak.VerifyTestMain(control.Around(m))
}

// patience is how long a step waits for what must happen.
const patience = time.Minute

// TestExample: the Example of package scopedcache is this program.
func TestExample(t *testing.T) {
	read := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	example := strings.NewReplacer("package scopedcache_test\n", "package main\n", "func Example() {\n", "func main() {\n").
		Replace(read("../../pkg/scopedcache/example_test.go"))
	if diff := cmp.Diff(read("main.go"), example); diff != "" {
		t.Errorf("the Example is another program: -program +example:\n%s", diff)
	}
}

// story is the operator with Roles in two namespaces, and what an administrator sees of it.
type story struct {
	*testing.T
	cluster          *cluster.Cluster
	admin            client.Client
	rights           kubernetes.Interface
	one, two, denied string
}

// TestScenario tells the ten steps of Ambit's own scenario with the operator in Go.
func TestScenario(t *testing.T) {
	c := control.Cluster(t)
	s := &story{T: t, cluster: c, rights: kubernetes.NewForConfigOrDie(c.Admin())}
	s.one, s.two, s.denied = s.namespace(), s.namespace(), s.namespace()
	for _, namespace := range []string{s.one, s.two} {
		s.grant(namespace)
	}
	operator, err := newOperator(c.User("operator"), []string{s.one, s.two, s.denied})
	s.must(err)
	s.admin, err = client.New(c.Admin(), client.Options{Scheme: operator.GetScheme()})
	s.must(err)
	s.start(operator)

	s.create(s.one, 2)
	s.says(s.one, "Ready", "2 of 2 nodes available")
	s.create(s.two, 3)
	s.says(s.two, "Ready", "3 of 3 nodes available")
	began := time.Now()
	s.create(s.denied, 1)
	s.says(s.denied, "Failed", s.missing())
	t.Logf("denied to status: %v", time.Since(began))
	began = time.Now()
	s.grant(s.denied)
	s.says(s.denied, "Ready", "1 of 1 nodes available")
	t.Logf("grant to ready: %v", time.Since(began))
	s.resize(s.denied, 2)
	s.says(s.denied, "Ready", "2 of 2 nodes available")
	began = time.Now()
	s.revoke(s.denied)
	s.says(s.denied, "Failed", s.missing())
	t.Logf("revoke to status: %v", time.Since(began))
	s.resize(s.denied, 3)
	s.resize(s.one, 1)
	s.says(s.one, "Ready", "1 of 1 nodes available")
	s.says(s.denied, "Failed", s.missing())
	began = time.Now()
	s.grant(s.denied)
	s.says(s.denied, "Ready", "3 of 3 nodes available")
	t.Logf("second grant to ready: %v", time.Since(began))
	for _, namespace := range []string{s.one, s.two, s.denied} {
		s.must(s.admin.Delete(t.Context(), memcachedIn(namespace, 0)))
	}
	s.until("the Deployments go", func() bool {
		for _, namespace := range []string{s.one, s.two, s.denied} {
			list, err := s.rights.AppsV1().Deployments(namespace).List(t.Context(), metav1.ListOptions{})
			if err != nil || len(list.Items) > 0 {
				return false
			}
		}
		return true
	})
}

// start runs the operator until the test ends.
func (s *story) start(operator ctrl.Manager) {
	ctx, stop := context.WithCancel(s.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := operator.Start(ctx); err != nil {
			s.Errorf("the operator: %v", err)
		}
	})
	s.Cleanup(func() { stop(); running.Wait() })
}

func (s *story) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// namespace makes one in which the operator may see Memcacheds and write their status.
func (s *story) namespace() string {
	s.Helper()
	name := s.cluster.Namespace(s.Context(), s, "memcached")
	s.bind(name, "owners",
		rbacv1.PolicyRule{APIGroups: []string{groupVersion.Group}, Resources: []string{"memcacheds"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{groupVersion.Group}, Resources: []string{"memcacheds/status"}, Verbs: []string{"update"}})
	return name
}

// grant lets the operator have Deployments.
func (s *story) grant(namespace string) {
	s.Helper()
	s.bind(namespace, "deployments", rbacv1.PolicyRule{
		APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch", "create", "update"},
	})
}

func (s *story) bind(namespace, name string, rules ...rbacv1.PolicyRule) {
	s.Helper()
	meta := metav1.ObjectMeta{Name: name}
	_, err := s.rights.RbacV1().Roles(namespace).Create(s.Context(), &rbacv1.Role{ObjectMeta: meta, Rules: rules}, metav1.CreateOptions{})
	if !apierrors.IsAlreadyExists(err) {
		s.must(err)
	}
	_, err = s.rights.RbacV1().RoleBindings(namespace).Create(s.Context(), &rbacv1.RoleBinding{
		ObjectMeta: meta, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "operator"}},
	}, metav1.CreateOptions{})
	s.must(err)
	s.cluster.Decided(s.Context(), s, "operator", namespace, true, rules...)
}

func (s *story) revoke(namespace string) {
	s.Helper()
	s.must(s.rights.RbacV1().RoleBindings(namespace).Delete(s.Context(), "deployments", metav1.DeleteOptions{}))
}

// missing is what the status says in the namespace that is denied.
func (s *story) missing() string {
	return fmt.Sprintf("cannot list, watch deployments.apps in namespace %q as operator", s.denied)
}

func memcachedIn(namespace string, size int32) *Memcached {
	return &Memcached{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "cache"}, Spec: MemcachedSpec{Size: size}}
}

func (s *story) create(namespace string, size int32) {
	s.Helper()
	s.must(s.admin.Create(s.Context(), memcachedIn(namespace, size)))
}

func (s *story) resize(namespace string, size int32) {
	s.Helper()
	patch := client.RawPatch("application/merge-patch+json", fmt.Appendf(nil, `{"spec":{"size":%d}}`, size))
	s.must(s.admin.Patch(s.Context(), memcachedIn(namespace, 0), patch))
}

// says waits until the status of the Memcached in a namespace is so.
func (s *story) says(namespace, status, message string) {
	s.Helper()
	found := &Memcached{}
	s.until(fmt.Sprintf("the status in %s is %s, %s", namespace, status, message), func() bool {
		s.must(s.admin.Get(s.Context(), client.ObjectKeyFromObject(memcachedIn(namespace, 0)), found))
		return found.Status == MemcachedStatus{State{Status: status, Message: message}}
	})
}

func (s *story) until(what string, is func() bool) {
	s.Helper()
	err := poll.Until(s.Context(), patience, func(context.Context) (bool, error) { return is(), nil })
	if err != nil {
		s.Fatalf("waiting until %s: %v", what, err)
	}
}
