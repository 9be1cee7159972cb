package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestIdentities: one Ambit runs two policies with a ServiceAccount each, which
// watch the same Secrets in the same namespace. The first may, the second may not,
// and then the other way round. Nothing that one reads is shown to the other, and
// every request is made as the right user.
func TestIdentities(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "impersonator")
	s := &identities{world: w, namespace: w.namespace()}
	s.one, s.two = s.identity("one"), s.identity("two")
	notOne := w.flapAllow(s.namespace, "secrets-one", s.one.user, secretsRule())
	w.launch(w.control.User(w.user), []string{s.namespace}, s.one.policy(t), s.two.policy(t))
	versions := s.follow()

	s.makeSecret("classified-1")
	s.shows(s.one, "classified-1")
	s.deniedSecrets(s.two)
	s.makeSecret("classified-2")
	s.shows(s.one, "classified-1", "classified-2")
	for _, id := range []identity{s.one, s.two} { // what is permitted goes on
		w.resize(s.namespace, id.name, 2)
		w.configMapSays(s.namespace, id.name, "size is 2")
	}

	notOne()
	s.deniedSecrets(s.one)
	s.noStreams(s.one)
	for _, v := range versions(s.two.name) {
		if strings.Contains(v, "classified") {
			t.Errorf("the second owner shows what only the first may read: %s", v)
		}
	}
	w.flapAllow(s.namespace, "secrets-two", s.two.user, secretsRule())
	s.shows(s.two, "classified-1", "classified-2")
	s.makeSecret("classified-3")
	s.shows(s.two, "classified-1", "classified-2", "classified-3")
	s.deniedSecrets(s.one)

	for _, v := range versions(s.one.name) {
		if strings.Contains(v, "classified-3") {
			t.Errorf("the first owner shows what only the second may read: %s", v)
		}
	}
	s.checkRequests()
}

type identities struct {
	*world
	namespace string
	one, two  identity
}

// identity is a ServiceAccount, and of the same name: its policy, and its owner.
type identity struct{ name, user, namespace string }

// identity makes the account and the owner, lets Ambit be the account, and lets
// the account do all that the policy needs but read Secrets.
func (s *identities) identity(name string) identity {
	s.t.Helper()
	id := identity{name: name, user: "system:serviceaccount:" + s.namespace + ":" + name, namespace: s.namespace}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := s.typed.CoreV1().ServiceAccounts(s.namespace).Create(s.t.Context(), account, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.flapAllow(s.namespace, "be-"+name, s.user, accountRule(name, "impersonate", "list", "watch"))
	s.flapAllow(s.namespace, name, id.user, append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))...)
	if err := s.control.Apply(s.t.Context(), fmt.Appendf(nil, `
apiVersion: cache.example.com/v1alpha1
kind: Memcached
metadata: {name: %s, namespace: %s, labels: {who: %s}}
spec: {size: 1}
`, name, s.namespace, name)); err != nil {
		s.t.Fatal(err)
	}
	return id
}

func secretsRule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list", "watch"}}
}

func (id identity) policy(t *testing.T) *policy.Program {
	return program(t, id.name+".yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[2]s}
spec:
  serviceAccountName: %[1]s
  owner:
    apiVersion: cache.example.com/v1alpha1
    kind: Memcached
    selector: {matchLabels: {who: %[1]s}}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {text: "size is ${owner.spec.size}"}
  watches:
    - id: secrets
      apiVersion: v1
      kind: Secret
      selector: {matchLabels: {shown: "yes"}}
  status:
    nodes: ${secrets.map(s, s.metadata.name).sort()}
`, id.name, id.namespace))
}

func (s *identities) makeSecret(name string) {
	s.t.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"shown": "yes"}}}
	if _, err := s.typed.CoreV1().Secrets(s.namespace).Create(s.t.Context(), secret, metav1.CreateOptions{}); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the owner shows these Secrets and is Ready.
func (s *identities) shows(id identity, want ...string) {
	s.t.Helper()
	began := time.Now()
	s.eventually(fmt.Sprintf("%s shows %v", id.name, want), func(ctx context.Context) error {
		owner, err := s.owner(ctx, s.namespace, id.name)
		if err != nil {
			return err
		}
		got, _, _ := unstructured.NestedStringSlice(owner.Object, "status", "nodes")
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("status is %v", owner.Object["status"])
		}
		return nil
	})
	s.condition(s.namespace, id.name, v1alpha1.ConditionReady, "True", v1alpha1.ReasonReady)
	s.t.Logf("%s shows %v after %s", id.name, want, time.Since(began).Round(time.Millisecond))
}

// deniedSecrets waits until the owner says that its own account may not read
// Secrets, and nothing else.
func (s *identities) deniedSecrets(id identity) {
	s.t.Helper()
	got := s.condition(s.namespace, id.name, v1alpha1.ConditionPermitted, "False", v1alpha1.ReasonForbidden)
	if want := fmt.Sprintf("cannot list, watch secrets in namespace %q as %s", s.namespace, id.user); got != want {
		s.t.Errorf("%s says %q, want %q", id.name, got, want)
	}
}

func (s *identities) noStreams(id identity) {
	s.t.Helper()
	s.eventually("no stream of Secrets is open", func(context.Context) error {
		open, err := s.control.Audit().OpenWatches(id.user)
		if err != nil {
			return err
		}
		for _, r := range open {
			if r.Resource == "secrets" {
				return fmt.Errorf("one is, since %s", r.Time)
			}
		}
		return nil
	})
}

// follow collects every version of the owners, as text, by name, until the test
// ends.
func (s *identities) follow() (versions func(name string) []string) {
	s.t.Helper()
	watch, err := s.objects.Resource(memcacheds).Namespace(s.namespace).Watch(s.t.Context(), metav1.ListOptions{})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(watch.Stop)
	var mu sync.Mutex
	seen := map[string][]string{}
	go func() {
		for event := range watch.ResultChan() {
			owner, ok := event.Object.(*unstructured.Unstructured)
			if !ok {
				continue
			}
			text, _ := json.Marshal(owner.Object["status"]) // JSON by construction
			mu.Lock()
			seen[owner.GetName()] = append(seen[owner.GetName()], string(text))
			mu.Unlock()
		}
	}()
	return func(name string) []string {
		s.t.Helper()
		owner, err := s.owner(s.t.Context(), s.namespace, name)
		if err != nil {
			s.t.Fatal(err)
		}
		last, _ := json.Marshal(owner.Object["status"])
		var list []string
		s.eventually("the watch has the latest version of "+name, func(context.Context) error {
			mu.Lock()
			defer mu.Unlock()
			if list = slices.Clone(seen[name]); !slices.Contains(list, string(last)) {
				return fmt.Errorf("it has %d versions", len(list))
			}
			return nil
		})
		return list
	}
}

// checkRequests checks who did what: each account with its own owner and child,
// and Ambit itself nothing but looking at the accounts.
func (s *identities) checkRequests() {
	s.t.Helper()
	requests, err := s.control.Audit().Since(cluster.Mark{}, "")
	if err != nil {
		s.t.Fatal(err)
	}
	writes := map[string]int{}
	for _, r := range requests {
		if r.Namespace != s.namespace {
			continue
		}
		id := map[string]identity{s.one.user: s.one, s.two.user: s.two}[r.User]
		switch {
		case r.User == s.user && r.Resource != "serviceaccounts" && !strings.HasPrefix(r.Resource, "selfsubject"):
			s.t.Errorf("a request as Ambit itself: %s %s, answered %d", r.Verb, r.URI, r.Code)
		case id.name != "" && r.IsWrite() && r.Name != "" && r.Name != id.name:
			s.t.Errorf("%s wrote what is not its own: %s %s", id.name, r.Verb, r.URI)
		case id.name != "" && r.Resource == "memcacheds" && (r.Verb == "list" || r.IsWatch()) && !strings.Contains(r.URI, "who%3D"+id.name):
			s.t.Errorf("%s looks at owners that are not its own: %s", id.name, r.URI)
		case id.name != "" && r.IsWrite() && r.Code < 300:
			writes[id.name]++
		}
	}
	if writes["one"] == 0 || writes["two"] == 0 {
		s.t.Errorf("successful writes by account: %v", writes)
	}
}
