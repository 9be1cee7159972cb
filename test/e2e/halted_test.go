package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// haltedWindow is how long the stories look on while nothing may happen: some
// times longer than any pause that Ambit makes before it looks again.
const haltedWindow = 3 * time.Second

// TestReasonImpersonationRefused: Ambit may not act as the ServiceAccount that a
// policy names, may, may not any more while it does, and may again.
func TestReasonImpersonationRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "reasons")
	h := w.newHalted("others-account")
	h.makeAccount()
	w.flapAllow(h.namespace, "see-"+h.account, w.user, accountRule(h.account, "list", "watch"))
	l := w.launch(w.control.User(w.user), []string{h.namespace}, h.policy)
	h.isHalted(l, 0, v1alpha1.ReasonImpersonationRefused)
	h.metricSays(l, true)
	h.noRequest(cluster.Mark{}, "before it was allowed to")

	take := w.flapAllow(h.namespace, "be-"+h.account, w.user, accountRule(h.account, "impersonate"))
	h.works(1)
	h.metricSays(l, false)
	h.nothingAsAmbit(403) // a refused impersonation is a request of who asked for it

	said := l.said()
	take()
	h.isHalted(l, said, v1alpha1.ReasonImpersonationRefused)
	h.metricSays(l, true)
	h.arrived("")
	h.doesNothing(2)
	w.flapAllow(h.namespace, "be-"+h.account, w.user, accountRule(h.account, "impersonate"))
	h.works(2)
}

// halted is a policy that can be halted: it keeps a ConfigMap for each owner, as a
// ServiceAccount.
type halted struct {
	w                        *world
	namespace, account, user string // user is the name of the account as a user
	policy                   *policy.Program
}

// newHalted makes a namespace with an owner; the account has its rights there, and
// does not exist. Ambit itself has none.
func (w *world) newHalted(account string) *halted {
	w.t.Helper()
	h := &halted{w: w, namespace: w.namespace(), account: account}
	h.user = "system:serviceaccount:" + h.namespace + ":" + account
	w.flapAllow(h.namespace, "account", h.user, append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))...)
	h.policy = h.program("serviceAccountName: " + account)
	w.createOwner(h.namespace, "a", 1)
	return h
}

// program is the policy with one more line in its spec.
func (h *halted) program(line string) *policy.Program {
	return program(h.w.t, "account.yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: account, namespace: %s}
spec:
  %s
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: config
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {text: "size is ${owner.spec.size}"}
`, h.namespace, line))
}

func accountRule(name string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{name}, Verbs: verbs}
}

func (h *halted) makeAccount() {
	h.w.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: h.account}}
	if _, err := h.w.typed.CoreV1().ServiceAccounts(h.namespace).Create(h.w.t.Context(), account, metav1.CreateOptions{}); err != nil {
		h.w.t.Fatal(err)
	}
}

func (h *halted) works(size int64) {
	h.w.t.Helper()
	began := time.Now()
	h.w.configMapSays(h.namespace, "a", fmt.Sprintf("size is %d", size))
	h.w.mended(h.namespace, "a")
	h.w.t.Logf("works again after %s", time.Since(began).Round(time.Millisecond))
}

// isHalted waits until the log gives the reason, and all streams of the account
// are closed.
func (h *halted) isHalted(l *launched, from int, reason string) {
	h.w.t.Helper()
	began := time.Now()
	h.w.says(l, from, reason, h.account)
	h.w.eventually("no stream of the account is open", func(context.Context) error {
		open, err := h.w.control.Audit().OpenWatches(h.user)
		if err == nil && len(open) > 0 {
			err = fmt.Errorf("%d are: %v", len(open), open)
		}
		return err
	})
	h.w.t.Logf("halted (%s) after %s", reason, time.Since(began).Round(time.Millisecond))
}

// arrived waits until nothing was asked for as the account for a second, or, unless agent
// is empty, by this user agent, but for reviews: what was on its way when the policy was
// halted, such as a watch that was being opened again, is in the audit log then.
func (h *halted) arrived(agent string) {
	h.w.t.Helper()
	mark, count, since := h.w.control.Audit().Mark(), -1, time.Now()
	h.w.eventually("what was asked for before the halt has arrived", func(context.Context) error {
		requests, err := h.w.control.Audit().Since(mark, "")
		if err != nil {
			return err
		}
		n := 0
		for _, r := range requests {
			other := agent != "" && strings.Contains(r.UserAgent, agent) && !strings.Contains(r.URI, "/selfsubject")
			if r.User == h.user && !r.IsWatchClosed() || other {
				n++
			}
		}
		if n != count {
			count, since = n, time.Now()
		}
		if quiet := time.Since(since); quiet < time.Second {
			return fmt.Errorf("the last of %d requests was %s ago", n, quiet)
		}
		return nil
	})
}

// metricSays waits until the metrics say that the impersonation is denied, or not.
func (h *halted) metricSays(l *launched, want bool) {
	h.w.t.Helper()
	h.w.eventually(fmt.Sprintf("ambit_denied of impersonate is there: %t", want), func(context.Context) error {
		if got := l.denies("impersonate", "serviceaccounts", h.namespace); got != want {
			return fmt.Errorf("it is there: %t", got)
		}
		return nil
	})
}

// doesNothing resizes the owner of a halted policy: nothing comes of it, and
// nothing is asked for as the account.
func (h *halted) doesNothing(size int64) {
	h.w.t.Helper()
	mark := h.w.control.Audit().Mark()
	h.w.resize(h.namespace, "a", size)
	h.w.patiently(haltedWindow)
	h.noRequest(mark, "while it is halted")
	config, err := h.w.typed.CoreV1().ConfigMaps(h.namespace).Get(h.w.t.Context(), "a", metav1.GetOptions{})
	if err != nil {
		h.w.t.Fatalf("reading the child of the halted policy: %v", err)
	}
	if want := fmt.Sprintf("size is %d", size-1); config.Data["text"] != want {
		h.w.t.Errorf("the child of the halted policy says %q, want %q", config.Data["text"], want)
	}
}

// noRequest: nothing was asked for as the account, not even a review. The end of a
// watch is the API server's doing.
func (h *halted) noRequest(mark cluster.Mark, when string) {
	h.w.t.Helper()
	requests, err := h.w.control.Audit().Since(mark, h.user)
	if err != nil {
		h.w.t.Fatal(err)
	}
	for _, r := range requests {
		if !r.IsWatchClosed() {
			h.w.t.Errorf("a request as the account %s: %s %s, answered %d", when, r.Verb, r.URI, r.Code)
		}
	}
}

// nothingAsAmbit: what the policy does, Ambit does not do as itself. Requests
// that were answered with the code do not count.
func (h *halted) nothingAsAmbit(but int) {
	h.w.t.Helper()
	requests, err := h.w.control.Audit().Since(cluster.Mark{}, h.w.user)
	if err != nil {
		h.w.t.Fatal(err)
	}
	asAccount, err := h.w.control.Audit().Since(cluster.Mark{}, h.user)
	if err != nil {
		h.w.t.Fatal(err)
	}
	for _, r := range requests {
		if r.Namespace == h.namespace && r.Resource != "serviceaccounts" && !strings.HasPrefix(r.Resource, "selfsubject") && r.Code != but {
			h.w.t.Errorf("a request as Ambit itself: %s %s", r.Verb, r.URI)
		}
	}
	writes := 0
	for _, r := range asAccount {
		if r.IsWrite() && (r.Resource == "configmaps" || r.Subresource == "status") {
			writes++
		}
	}
	if writes == 0 {
		h.w.t.Error("nothing was written as the account: the test is wrong")
	}
}
