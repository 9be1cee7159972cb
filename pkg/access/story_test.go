package access

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/timed"
)

// world is a story's own Reviewer, as the user asker, on the real control plane.
type world struct {
	*testing.T
	cluster  *cluster.Cluster
	admin    kubernetes.Interface
	reviews  Reviews // as asker
	reviewer *Reviewer
}

func newWorld(t *testing.T, config *rest.Config) *world {
	t.Helper()
	c := control.Cluster(t)
	if config == nil {
		config = c.User("asker")
	}
	config.UserAgent = t.Name()
	w := &world{T: t, cluster: c, admin: kubernetes.NewForConfigOrDie(c.Admin())}
	w.reviews = FromClient(authorizationv1client.NewForConfigOrDie(config))
	w.reviewer = New(Options{Reviews: func(identity string) (Reviews, error) {
		as := rest.CopyConfig(config)
		as.Impersonate.UserName = identity
		client, err := authorizationv1client.NewForConfig(as)
		if err != nil {
			return nil, err
		}
		return FromClient(client), nil
	}})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.reviewer.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		w.must(<-ended)
	})
	return w
}

func (w *world) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func (w *world) namespace() string {
	w.Helper()
	return w.cluster.Namespace(w.Context(), w, "access")
}

// role makes or replaces the Role "asker".
func (w *world) role(namespace string, rules ...rbacv1.PolicyRule) {
	w.Helper()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "asker"}, Rules: rules}
	roles := w.admin.RbacV1().Roles(namespace)
	if _, err := roles.Update(w.Context(), role, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		w.must(err)
		return
	}
	_, err := roles.Create(w.Context(), role, metav1.CreateOptions{})
	w.must(err)
}

// bind gives the Role to asker.
func (w *world) bind(namespace string) {
	w.Helper()
	_, err := w.admin.RbacV1().RoleBindings(namespace).Create(w.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "asker"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "asker"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "asker"}},
	}, metav1.CreateOptions{})
	w.must(err)
}

func (w *world) unbind(namespace string) {
	w.Helper()
	w.must(w.admin.RbacV1().RoleBindings(namespace).Delete(w.Context(), "asker", metav1.DeleteOptions{}))
}

// storyPatience is how long a busy machine may take for what is promised in seconds.
const storyPatience = time.Minute

// eventually waits until ok, and returns how long that took.
func (w *world) eventually(what string, within time.Duration, ok func() bool) time.Duration {
	w.Helper()
	start := time.Now()
	err := wait.PollUntilContextTimeout(w.Context(), 2*time.Millisecond, storyPatience, true,
		func(context.Context) (bool, error) { return ok(), nil })
	if err != nil {
		w.Fatalf("%s: not within %v", what, storyPatience)
	}
	took := time.Since(start)
	timed.Check(w, what, took, within)
	return took
}

// hinted gives the invalidation that rights have changed in a namespace, waits until the reviewer
// has found that out, and returns how long that took: a second at most, if the API server
// knew of the change before the second probe after the invalidation. It decides by a cache; where
// that is later the last probe finds it, so much later.
func (w *world) hinted(what, namespace string, of authorizationv1.ResourceAttributes, allowed bool, ok func() bool) time.Duration {
	w.Helper()
	of.Namespace = namespace
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{User: "asker", ResourceAttributes: &of}}
	knows, within, start := false, time.Second+retryStages()[2]-retryStages()[1], time.Now()
	w.reviewer.Invalidate(namespace)
	took := w.eventually(what, storyPatience, func() bool {
		if !knows && !ok() {
			answer, err := w.admin.AuthorizationV1().SubjectAccessReviews().Create(w.Context(), review, metav1.CreateOptions{})
			w.must(err)
			if knows = answer.Status.Allowed == allowed; knows && time.Since(start) < retryStages()[1] {
				within = time.Second
			}
		}
		return ok()
	})
	timed.Check(w, what, took, within)
	return took
}

// ofCreate is the access create, of which fullRule gives all.
func ofCreate() authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{Verb: create.Verb, Group: create.Group, Resource: create.Resource}
}

func fullRule() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"apps"}, Resources: []string{"deployments"}, Verbs: []string{"list", "watch", "create"}}
}

// combinations are accesses enough to tell rules apart.
func combinations() (found []Access) {
	for _, verb := range []string{"get", "list", "create", "delete"} {
		for _, kind := range []struct{ group, resource string }{{"", "pods"}, {"apps", "deployments"}, {"apps", "statefulsets"}, {"example.com", "things"}} {
			for _, subresource := range []string{"", "status", "scale"} {
				for _, name := range []string{"", "a", "b"} {
					found = append(found, Access{verb, kind.group, kind.resource, subresource, name})
				}
			}
		}
	}
	return found
}

// randomRules makes one to three rules.
func randomRules(r *rand.Rand) (rules []rbacv1.PolicyRule) {
	some := func(from ...string) (found []string) {
		for len(found) == 0 {
			for _, f := range from {
				if r.IntN(3) == 0 {
					found = append(found, f)
				}
			}
		}
		return found
	}
	for range 1 + r.IntN(3) {
		rule := rbacv1.PolicyRule{
			Verbs:     some("get", "list", "create", "delete", "*"),
			APIGroups: some("", "apps", "example.com", "*"),
			Resources: some("pods", "deployments", "deployments/scale", "things/status", "*/status", "*/scale", "pods/*", "*"),
		}
		if r.IntN(3) == 0 {
			rule.ResourceNames = some("a", "c")
		}
		rules = append(rules, rule)
	}
	return rules
}

// TestRealRules compares Rules.Decide with the real authorizer.
func TestRealRules(t *testing.T) {
	w := newWorld(t, nil)
	namespace := w.namespace()
	w.role(namespace)
	w.bind(namespace)
	compared := 0
	for round := range uint64(8) {
		r := rand.New(rand.NewPCG(round, 1))
		marker := fmt.Sprint("marker", round)
		rules := append(randomRules(r), rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{marker}})
		w.role(namespace, rules...)
		var listed Rules
		w.eventually("the authorizer knows the new rules", 10*time.Second, func() bool {
			var err error
			listed, err = w.reviews.Rules(t.Context(), namespace)
			w.must(err)
			// Not Decide: the rules of the round before may allow everything.
			return slices.ContainsFunc(listed.Items, func(r authorizationv1.ResourceRule) bool { return slices.Contains(r.Resources, marker) })
		})
		expect(t, "incomplete", false, listed.Incomplete)
		for _, a := range combinations() {
			verdict, err := w.reviews.Access(t.Context(), namespace, a)
			w.must(err)
			want, got := decisionOf(verdict.Allowed), listed.Decide(a)
			if got == Unknown && a.Name == "" && want == Denied {
				continue // it depends on the name: see there
			}
			if compared++; got != want {
				t.Errorf("round %d: %+v is %s, we say %q, by %v", round, a, want, got, rules)
			}
		}
	}
	if compared < 800 {
		t.Errorf("only %d compared", compared)
	}
}

func TestRealGrantAndRevoke(t *testing.T) {
	w := newWorld(t, nil)
	namespace := w.namespace()
	at := Key{Namespace: namespace}
	w.role(namespace, fullRule())
	sub := newListener()
	w.reviewer.Require(sub, at, all, Payer{})
	is := func(d Decision) func() bool { return func() bool { return w.reviewer.Decide(at, create) == d } }
	w.eventually("denied", time.Second, is(Denied))
	w.bind(namespace)
	w.eventually("a grant is found by a probe", 6*time.Second, is(Allowed))
	for range 10 {
		w.unbind(namespace)
		took := w.hinted("a hint brings a revocation", namespace, ofCreate(), false, is(Denied))
		w.bind(namespace)
		t.Logf("revoked in %v, granted in %v", took, w.hinted("and a grant", namespace, ofCreate(), true, is(Allowed)))
	}
	w.unbind(namespace)
	w.reviewer.ReportDenied(at, list)
	w.eventually("a refusal is confirmed", 2*time.Second, is(Denied))
}

// TestRealDangling: a binding to a Role that is gone.
func TestRealDangling(t *testing.T) {
	w := newWorld(t, nil)
	namespace := w.namespace()
	at := Key{Namespace: namespace}
	w.bind(namespace)
	rules, err := w.reviews.Rules(t.Context(), namespace)
	w.must(err)
	t.Logf("a dangling binding: incomplete %v", rules.Incomplete)
	w.reviewer.Require(newListener(), at, all, Payer{})
	w.eventually("denied", time.Second, func() bool { return w.reviewer.Decide(at, list) == Denied })
	w.role(namespace, fullRule())
	w.eventually("granted", 6*time.Second, func() bool {
		return w.reviewer.Decide(at, list) == Allowed && w.reviewer.Decide(at, create) == Allowed
	})
}

func TestRealEverywhere(t *testing.T) {
	w := newWorld(t, nil)
	other := w.namespace()
	w.role(other, fullRule())
	w.bind(other) // is not for all namespaces
	w.reviewer.Require(newListener(), Key{}, all, Payer{})
	w.eventually("denied", time.Second, func() bool { return w.reviewer.Decide(Key{}, create) == Denied })
	roles, bindings := w.admin.RbacV1().ClusterRoles(), w.admin.RbacV1().ClusterRoleBindings()
	name := w.namespace() // unique
	_, err := roles.Create(t.Context(), &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: []rbacv1.PolicyRule{fullRule()}}, metav1.CreateOptions{})
	w.must(err)
	_, err = bindings.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "asker"}},
	}, metav1.CreateOptions{})
	w.must(err)
	w.hinted("granted", "", ofCreate(), true, func() bool { return w.reviewer.Decide(Key{}, create) == Allowed })
	w.must(bindings.Delete(t.Context(), name, metav1.DeleteOptions{}))
	w.must(roles.Delete(t.Context(), name, metav1.DeleteOptions{}))
	w.hinted("revoked", "", ofCreate(), false, func() bool { return w.reviewer.Decide(Key{}, list) == Denied })
}

// TestRealIdentities: an impersonation that is not allowed, and an account that is gone.
func TestRealIdentities(t *testing.T) {
	w := newWorld(t, nil)
	namespace := w.namespace()
	at := Key{Identity: "system:serviceaccount:" + namespace + ":worker", Namespace: namespace}
	w.reviewer.Require(newListener(), at, all, Payer{})
	w.eventually("refused", time.Second, func() bool { return w.reviewer.State(at).Refusal != nil })
	refusal := w.reviewer.State(at).Refusal
	if !apierrors.IsForbidden(refusal) || !strings.Contains(refusal.Error(), "impersonate") {
		t.Errorf("refused: %v", refusal)
	}
	w.role(namespace, rbacv1.PolicyRule{
		APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"impersonate"}, ResourceNames: []string{"worker"},
	})
	w.bind(namespace)
	impersonate := authorizationv1.ResourceAttributes{Verb: "impersonate", Resource: "serviceaccounts", Name: "worker"}
	w.hinted("allowed to impersonate", namespace, impersonate, true, func() bool {
		return w.reviewer.State(at).Refusal == nil && w.reviewer.Decide(at, list) == Denied
	})

	config, err := w.cluster.ServiceAccount(t.Context(), namespace, "gone")
	w.must(err)
	gone := newWorld(t, config)
	gone.reviewer.Require(newListener(), Key{Namespace: namespace}, all, Payer{})
	gone.eventually("reviewed", time.Second, func() bool { return gone.reviewer.State(Key{Namespace: namespace}).Reviewed })
	w.must(w.admin.CoreV1().ServiceAccounts(namespace).Delete(t.Context(), "gone", metav1.DeleteOptions{}))
	gone.eventually("a deleted account", 20*time.Second, func() bool {
		return apierrors.IsUnauthorized(gone.reviewer.State(Key{Namespace: namespace}).Refusal)
	})
}

// TestRealPace reads the ceiling and the pace from the audit log.
func TestRealPace(t *testing.T) {
	w := newWorld(t, nil)
	mark := w.cluster.Audit().Mark()
	for i := range 200 {
		w.reviewer.Require(newListener(), Key{Namespace: fmt.Sprint("denied-", i)}, all, Payer{})
	}
	w.eventually("all are reviewed", 20*time.Second, func() bool {
		return w.reviewer.State(Key{Namespace: "denied-199"}).Reviewed && w.reviewer.CountRequests() > 200
	})
	requests, err := w.cluster.Audit().Since(mark, "asker")
	w.must(err)
	var probes []probe
	for _, r := range requests {
		if r.UserAgent == t.Name() {
			probes = append(probes, probe{at: r.Time.Sub(requests[0].Time)})
		}
	}
	slices.SortFunc(probes, func(a, b probe) int { return cmp.Compare(a.at, b.at) }) // the log is by when they ended
	if got := most(probes, time.Second); got > 20 || len(probes) < 200 {
		t.Errorf("%d requests in a second, %d in all", got, len(probes))
	}
}

func TestRealErrors(t *testing.T) {
	w := newWorld(t, nil)
	_, err := w.reviews.Rules(t.Context(), "")
	var status apierrors.APIStatus
	if !errors.As(err, &status) || isRefusal(err) {
		t.Errorf("no namespace: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = w.reviews.Access(ctx, "default", list); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
