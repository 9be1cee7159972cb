package install

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

const memcached = root + "/policies/memcached.yaml"

// stage is where the story of an installation is told.
type stage struct {
	t       *testing.T
	program string               // ambit
	by      *rest.Config         // who installs Ambit, grants it rights, writes policies and owners
	objects dynamic.Interface    // as that one
	sees    kubernetes.Interface // as administrator
	policy  string               // a file: the policy as it is for Ambit's namespace

	home    string // Ambit's namespace
	allowed string // one in which it has its rights all the time; empty: there is none
	denied  string // one in which it has none to children at first
}

// stage makes what has to be there before Ambit is installed. For a team Ambit's
// namespace is the only one.
func (i installation) stage(t *testing.T, from source) *stage {
	t.Helper()
	s := &stage{t: t, program: build(t), by: control.Admin(), home: home, sees: typedClient(t, control.Admin())}
	switch {
	case i.team:
		s.by, s.home = control.User(operator), teamNamespace(t, from == fromResource)
		s.denied = s.home
	case i.overlay == "demo":
		s.allowed, s.denied = "allowed-one", control.Namespace(t.Context(), t, "denied")
	default:
		s.allowed, s.denied = control.Namespace(t.Context(), t, "allowed"), control.Namespace(t.Context(), t, "denied")
	}
	s.objects = dynamicClient(t, s.by)
	s.policy = filepath.Join(t.TempDir(), "policy.yaml")
	text := strings.Replace(string(read(t, memcached)), "namespace: "+home, "namespace: "+s.home, 1)
	if err := os.WriteFile(s.policy, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return s
}

// teamNamespace makes a namespace with a user who may do there what the role admin may,
// and everything with owners; with policies too where the team is let have them.
func teamNamespace(t *testing.T, withPolicies bool) string {
	t.Helper()
	namespace := restricted(t, "team")
	bind(t, namespace, operator, "ClusterRole", "admin")
	grant(t, namespace, operator, rbacv1.PolicyRule{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds", "memcacheds/status"}, Verbs: []string{"*"}})
	last := authorizationv1.ResourceAttributes{Namespace: namespace, Verb: "patch", Group: "cache.example.com", Resource: "memcacheds", Subresource: "status"}
	if withPolicies {
		applyCRD(t)
		grant(t, namespace, operator, rbacv1.PolicyRule{APIGroups: []string{"ambit.dev"}, Resources: []string{"reconcilepolicies", "reconcilepolicies/status"}, Verbs: []string{"*"}})
		awaitRight(t, control.User(operator), policyAccess(namespace, "patch", "status"))
	}
	allowed(t, control.User(operator), namespace)
	awaitRight(t, control.User(operator), last)
	return namespace
}

// ownersOnly lets Ambit see owners in one namespace and write their status.
const ownersOnly = `
{apiVersion: rbac.authorization.k8s.io/v1, kind: Role, metadata: {name: ambit-owners, namespace: NAMESPACE}, rules: [
  {apiGroups: [cache.example.com], resources: [memcacheds], verbs: [list, watch]}, {apiGroups: [cache.example.com], resources: [memcacheds/status], verbs: [patch]}]}
---
{apiVersion: rbac.authorization.k8s.io/v1, kind: RoleBinding, metadata: {name: ambit-owners, namespace: NAMESPACE},
  roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: ambit-owners}, subjects: [{kind: ServiceAccount, name: ambit, namespace: NAMESPACE}]}
`

// prepare gives Ambit what it has all the time. The demo has it by its manifests.
func (i installation) prepare(s *stage) {
	s.t.Helper()
	switch {
	case i.team:
		s.apply([]byte(strings.ReplaceAll(ownersOnly, "NAMESPACE", s.home)))
	case i.watches:
		s.grant(s.allowed, "--watch-rbac")
	default:
		remove(s.t, clusterRoleBindings, "", "ambit:watch-rbac") // of another installation
	}
}

// grant gives Ambit what the policy needs in a namespace, as the documents say it.
func (s *stage) grant(namespace string, more ...string) {
	s.t.Helper()
	args := append([]string{"rbac", "-f", s.policy, "--crds", root + "/examples/memcached", "--namespaces", namespace, "--service-account", s.home + "/ambit"}, more...)
	if s.allowed != "" {
		args = append(args, "--owners-everywhere")
	}
	s.apply([]byte(must(s.t)(command(s.t, nil, s.program, args...))))
}

// apply applies rights. Somebody who was given them a moment ago may have to wait until
// they can pass them on.
func (s *stage) apply(rights []byte) {
	s.t.Helper()
	eventually(s.t, "the rights are granted", func() error {
		output, err := kubectl(s.t, s.by, rights, "apply", "-f", "-")
		if err != nil {
			return fmt.Errorf("%w: %s", err, output)
		}
		return nil
	})
}

// revoke takes it back.
func (s *stage) revoke(namespace string) {
	s.t.Helper()
	must(s.t)(kubectl(s.t, s.by, nil, "delete", "rolebinding", "ambit-memcached", "-n", namespace))
}
