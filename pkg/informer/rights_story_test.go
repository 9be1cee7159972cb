package informer

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/timed"
)

// TestRealRevocation: a right is taken away under a live informer, of which the API
// server says nothing by itself.
func TestRealRevocation(t *testing.T) {
	w := newEnv(t, Options{Reauthorize: true, Retry: fixed(50 * time.Millisecond)}, "")
	one, two := w.namespace(), w.namespace()
	w.grant(one)
	w.grant(two)
	sub, neighbour := w.listener(), w.listener()
	w.put(one, "a", "1")
	view := w.streams.Require(sub, []Interest{configMapsIn(one)})[0]
	other := w.streams.Require(neighbour, []Interest{configMapsIn(two)})[0]
	sub.next(Synced, "")
	neighbour.next(Synced, "")
	epoch := other.Status().Epoch
	for range 3 {
		w.revoke(one)
		start := time.Now()
		sub.becomes(Forbidden) // and was told of no deletion before
		timed.Check(t, "a right that was taken away is noticed", time.Since(start), 5*time.Second)
		expect(t, "objects", 0, len(view.List()))
		w.put(one, "a", fmt.Sprint(time.Now()))
		w.grant(one)
		sub.next(Synced, "")
		expect(t, "objects", 1, len(view.List()))
	}
	expect(t, "the neighbour's epoch", epoch, other.Status().Epoch)
	expect(t, "the neighbour is told", 0, len(neighbour.events))
}

// TestRealRevoke: whoever knows first need not wait for that.
func TestRealRevoke(t *testing.T) {
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	w.grant(namespace)
	w.put(namespace, "a", "1")
	sub, need := w.listener(), configMapsIn(namespace)
	view := w.streams.Require(sub, []Interest{need})[0]
	sub.next(Synced, "")
	w.eventually("one stream is open", func() bool { return w.open() == 1 })
	w.revoke(namespace)
	w.streams.RevokeInformers(in(namespace), errors.New("the access review says no"))
	expect(t, "objects", 0, len(view.List()))
	sub.becomes(Forbidden)
	start := time.Now()
	w.eventually("none is", func() bool { return w.open() == 0 })
	timed.Check(t, "the connection is closed", time.Since(start), time.Second)
	w.put(namespace, "b", "1")
	w.grant(namespace)
	w.streams.Retry(need.Key)
	w.eventually("live again", func() bool { return view.State() == Live && len(view.List()) == 2 })
}

// TestRealDeletedAccount: the token of a ServiceAccount that is deleted is not
// accepted any more, as soon as the API server's own cache of tokens, of 10
// seconds, has forgotten it.
func TestRealDeletedAccount(t *testing.T) {
	const memory = 10 * time.Second
	w := newEnv(t, Options{}, "")
	namespace := w.namespace()
	config, err := w.cluster.ServiceAccount(t.Context(), namespace, "robot")
	w.must(err)
	w.bind(namespace, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: "robot"})
	w.cluster.Decided(t.Context(), t, "system:serviceaccount:"+namespace+":robot", namespace, true, watchingConfigMaps())
	s := NewSet(Options{Clients: shared(t, config), Reauthorize: true})
	defer begin(t, s)()
	w.put(namespace, "a", "1")
	sub := w.listener()
	view := s.Require(sub, []Interest{configMapsIn(namespace)})[0]
	sub.next(Synced, "")
	w.must(w.admin.CoreV1().ServiceAccounts(namespace).Delete(t.Context(), "robot", metav1.DeleteOptions{}))
	start := time.Now()
	sub.becomes(Unauthenticated)
	timed.Check(t, "an account that was deleted is noticed", time.Since(start), memory+5*time.Second)
	expect(t, "objects", 0, len(view.List()))
}

// TestRealVerifyNeedsNoList: opening again where they were, hundreds of times,
// makes no list, neither with silent informers nor with busy ones.
func TestRealVerifyNeedsNoList(t *testing.T) {
	const streams, reopens = 50, 200
	w := newEnv(t, Options{Reauthorize: true}, "")
	namespace := w.namespace()
	w.grant(namespace)
	sub := w.listener()
	needs := make([]Interest, streams)
	for i := range needs {
		needs[i] = configMapsIn(namespace)
		needs[i].Key.LabelSelector = fmt.Sprint("owner=", i)
	}
	needs[0].Key.LabelSelector = ""
	views := w.streams.Require(sub, needs)
	for range needs {
		sub.next(Synced, "")
	}
	mark := w.cluster.Audit().Mark()
	for i := 0; w.streams.CountReopened() < reopens; i++ {
		name := fmt.Sprint("map-", i)
		w.put(namespace, name, "1")
		sub.next(Added, name)
	}
	for _, view := range views {
		expect(t, "state", Live, view.State())
	}
	w.eventually("they are in the log", func() bool { return len(w.requests(mark, "watch", true)) >= reopens })
	w.resumedOnly(mark)
	expect(t, "told besides", 0, len(sub.events))
}

// resumedOnly checks that since mark nothing was listed.
func (w *env) resumedOnly(mark cluster.Mark) {
	w.Helper()
	expect(w.T, "lists", 0, len(w.requests(mark, "list", false)))
	for _, r := range w.requests(mark, "watch", true) {
		if strings.Contains(r.URI, "sendInitialEvents") {
			w.Errorf("the whole list was asked for again: %s", r.URI)
		}
	}
}

// TestRealOneNamespaceIsEnough: with a RoleBinding in one namespace nothing else
// is asked for.
func TestRealOneNamespaceIsEnough(t *testing.T) {
	w := newEnv(t, Options{Reauthorize: true}, "")
	namespace := w.namespace()
	w.grant(namespace)
	mark := w.cluster.Audit().Mark()
	sub := w.listener()
	w.streams.Require(sub, []Interest{configMapsIn(namespace)})
	sub.next(Synced, "")
	w.eventually("opened again twice", func() bool { return w.streams.CountReopened() >= 2 })
	all, err := w.cluster.Audit().Since(mark, "watcher")
	w.must(err)
	for _, r := range all {
		if r.UserAgent == t.Name() && (r.Namespace != namespace || r.Code != 200 || r.Resource != "configmaps") {
			t.Errorf("asked for %s: %d", r.URI, r.Code)
		}
	}
}
