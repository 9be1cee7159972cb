package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/test/cluster"
)

// sourceUsers are the identities of the stories about where policies come from.
func sourceUsers() []string {
	return append(append(sourceEndUsers(), sourceRivalUsers()...), "source-crd", "source-configmap", "source-file", "source-removed", "source-half", "source-tenant", "source-edits", "source-kind")
}

var (
	policies   = schema.GroupVersionResource{Group: "ambit.dev", Version: "v1alpha1", Resource: "reconcilepolicies"}
	policyMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
)

// sourced is an Ambit that takes its policies from somewhere, in a namespace of its own
// in which also its owners are.
type sourced struct {
	*world
	own   string
	other string // another one, if the story is of two
	dir   string // for files
	mark  cluster.Mark
	stop  func() // may be called more than once
	// heard is how many lines of the log logsAgain has seen.
	heard int

	mu  sync.Mutex
	log []string
}

// sourceRights are those to read policies as objects, and to write how they fare.
func sourceRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		{APIGroups: []string{"ambit.dev"}, Resources: []string{"reconcilepolicies"}, Verbs: []string{"list", "watch", "patch"}},
		{APIGroups: []string{"ambit.dev"}, Resources: []string{"reconcilepolicies/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"list", "watch", "patch"}},
	}
}

func newSourced(t *testing.T, user string, rules ...rbacv1.PolicyRule) *sourced {
	t.Helper()
	s := &sourced{world: newWorld(t, user), dir: t.TempDir()}
	if err := s.control.Apply(t.Context(), read(t, "../../manifests/crd/ambit.dev_reconcilepolicies.yaml")); err != nil {
		t.Fatal(err)
	}
	s.own = s.namespace(append(memcachedRights(), rules...)...)
	s.mark = s.control.Audit().Mark()
	return s
}

// start runs Ambit in its own namespace, unless the sources say another, limited to the
// namespaces of the story.
func (s *sourced) start(from manager.Sources) {
	s.t.Helper()
	namespaces := []string{s.own}
	if s.other != "" {
		namespaces = append(namespaces, s.other)
	}
	s.startIn(from, namespaces...)
}

// startIn is start, limited to these namespaces in place of the story's; without any it is
// not limited.
func (s *sourced) startIn(from manager.Sources, namespaces ...string) {
	s.t.Helper()
	if from.Namespace == "" {
		from.Namespace = s.own
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	logger := funcr.New(func(_, args string) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.log = append(s.log, args)
	}, funcr.Options{})
	go func() {
		done <- manager.Run(ctx, manager.Options{Config: s.control.User(s.user), Sources: &from, Namespaces: namespaces, Logger: logger})
	}()
	s.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			s.t.Errorf("running Ambit: %v", err)
		}
		if s.t.Failed() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.t.Logf("the log:\n%s", strings.Join(s.log, "\n"))
		}
	})
	s.t.Cleanup(s.stop)
}

// logs waits until the log has a line with all of these.
func (s *sourced) logs(words ...string) { s.t.Helper(); s.logsFrom(0, words) }

// logsAgain is the same for lines after those that it was called for before.
func (s *sourced) logsAgain(words ...string) { s.t.Helper(); s.heard = s.logsFrom(s.heard, words) }

// logsFrom returns the number of the line after the one it has waited for.
func (s *sourced) logsFrom(line int, words []string) (next int) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("the log says %q", words), func(context.Context) error {
		s.mu.Lock()
		defer s.mu.Unlock()
		for i, text := range s.log[line:] {
			has := true
			for _, word := range words {
				has = has && strings.Contains(text, word)
			}
			if has {
				next = line + i + 1
				return nil
			}
		}
		return errors.New("it does not")
	})
	return next
}

// memcachedText is the Memcached policy, with a version in the labels of what it makes.
// Version 0 does not compile.
func memcachedText(t *testing.T, namespace string, version int) string {
	t.Helper()
	const plain, size = `metadata: {name: "${owner.metadata.name}", labels: "${labels}"}`, "replicas: ${owner.spec.size}"
	text := string(read(t, "../../policies/memcached.yaml"))
	if !strings.Contains(text, plain) || !strings.Contains(text, size) {
		t.Fatal("the policy does not say what it said: the test is wrong")
	}
	text = strings.Replace(text, "namespace: ambit-system", "namespace: "+namespace, 1)
	if version == 0 {
		return strings.Replace(text, size, "replicas: ${owner.spec.size + nonsense}", 1)
	}
	return strings.Replace(text, plain, fmt.Sprintf(`metadata: {name: "${owner.metadata.name}", labels: {version: "v%d"}}`, version), 1)
}

// namedText is memcachedText under another name.
func namedText(t *testing.T, name, namespace string, version int) string {
	t.Helper()
	return strings.Replace(memcachedText(t, namespace, version), "metadata: {name: memcached,", "metadata: {name: "+name+",", 1)
}

// putResource, putMap and putFile write the policy where it comes from; the others take
// it away.
func (s *sourced) putResource(text string) {
	s.t.Helper()
	if err := s.control.Apply(s.t.Context(), []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sourced) putMap(text string) {
	s.t.Helper()
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": map[string]any{"memcached.yaml": text, "README.md": "not a policy"},
		"metadata": map[string]any{"name": "policies", "labels": map[string]any{v1alpha1.LabelPolicySource: v1alpha1.PolicySourceValue}},
	}}
	if _, err := s.objects.Resource(policyMaps).Namespace(s.own).Apply(s.t.Context(), "policies", object, metav1.ApplyOptions{FieldManager: "story", Force: true}); err != nil {
		s.t.Fatal(err)
	}
}

// putFile replaces the file in one step.
func (s *sourced) putFile(text string) {
	s.t.Helper()
	next := filepath.Join(s.dir, ".next")
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(s.dir, "memcached.yaml")); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sourced) removeResource() { s.t.Helper(); s.removeObject(policies, "memcached") }
func (s *sourced) removeMap()      { s.t.Helper(); s.removeObject(policyMaps, "policies") }

func (s *sourced) removeFile() {
	s.t.Helper()
	if err := os.Remove(filepath.Join(s.dir, "memcached.yaml")); err != nil {
		s.t.Fatal(err)
	}
}

func (s *sourced) removeObject(resource schema.GroupVersionResource, name string) {
	s.t.Helper()
	if err := s.objects.Resource(resource).Namespace(s.own).Delete(s.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// isGone waits until an object is.
func (s *sourced) isGone(resource schema.GroupVersionResource, name string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("%s %s is gone", resource.Resource, name), func(ctx context.Context) error {
		_, err := s.objects.Resource(resource).Namespace(s.own).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return fmt.Errorf("it is there: %v", err)
	})
}

// policyFares waits until a condition of the custom resource is so, for its latest
// version, and returns its message.
func (s *sourced) policyFares(kind, status, reason string) (message string) {
	s.t.Helper()
	return s.resourceFares(s.own, "memcached", kind, status, reason)
}

// resourceFares is the same of any custom resource.
func (s *sourced) resourceFares(namespace, name, kind, status, reason string) (message string) {
	s.t.Helper()
	s.eventually(fmt.Sprintf("policy %s/%s is %s=%s %s", namespace, name, kind, status, reason), func(ctx context.Context) error {
		object, err := s.objects.Resource(policies).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		c := conditionOf(object, kind)
		if c == nil || c["status"] != status || c["reason"] != reason || c["observedGeneration"] != object.GetGeneration() {
			return fmt.Errorf("status is %v", object.Object["status"])
		}
		message, _ = c["message"].(string)
		return nil
	})
	return message
}
