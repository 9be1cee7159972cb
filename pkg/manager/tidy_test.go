package manager

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// account makes a ServiceAccount of the namespace.
func (w *world) account(name string) {
	w.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.admin.CoreV1().ServiceAccounts(w.namespace).Create(w.Context(), account, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
}

// actingAs is the Memcached policy as an account of the namespace.
func (w *world) actingAs(account string, more ...string) *policy.Program {
	w.Helper()
	data, err := os.ReadFile("../../policies/memcached.yaml")
	if err != nil {
		w.Fatal(err)
	}
	text := fmt.Sprintf("namespace: %s}\nspec:\n  serviceAccountName: %s\n%s", w.namespace, account, strings.Join(more, ""))
	return compileText(w.T, strings.Replace(string(data), "namespace: ambit-system}\nspec:\n", text, 1))
}

// process runs Ambit until the test ends, with its own account, and no policies at first. It
// tidies up all the time.
func (w *world) process(o Options) (*process, *controller.Controller) {
	w.Helper()
	engines := make(chan *controller.Controller, 1)
	o.Config, o.Namespaces = control.Cluster(w).User(ambit), []string{w.namespace}
	o.While = func(ctx context.Context, e *controller.Controller) {
		engines <- e
		<-ctx.Done()
	}
	p, err := newProcess(o)
	if err != nil {
		w.Fatal(err)
	}
	p.pace = cleanupPace{tidy: 20 * time.Millisecond, idle: 300 * time.Millisecond}
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	ended := make(chan error, 1)
	go func() { ended <- p.runProcess(ctx) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Error(err)
		}
		p.own.http.CloseIdleConnections()
	})
	return p, <-engines
}

// TestTidyMeters: nothing that was counted of a policy stays when it has gone, also where
// nobody asks for metrics.
func TestTidyMeters(t *testing.T) {
	w := newWorld(t)
	w.grant("rights", memcachedRights()...)
	p, e := w.process(Options{})
	known := func() int {
		p.meters.mu.Lock()
		defer p.meters.mu.Unlock()
		return len(p.meters.known)
	}
	w.createOwner("a")
	if err := e.Set([]*policy.Program{memcached(t)}, nil); err != nil {
		t.Fatal(err)
	}
	is := func(want int) {
		t.Helper()
		w.eventually(fmt.Sprintf("something is counted of %d policies", want), func(context.Context) error {
			if n := known(); n != want {
				return fmt.Errorf("it is of %d", n)
			}
			return nil
		})
	}
	is(1)
	if err := e.Set(nil, nil); err != nil {
		t.Fatal(err)
	}
	is(0)
}

// TestTidyClients: of accounts that policies act as one after the other no clients are left
// but those of Ambit itself; those of one that goes on with the same account stay.
func TestTidyClients(t *testing.T) {
	w := newWorld(t)
	w.grant("accounts", rule("", "serviceaccounts", "impersonate", "list", "watch"))
	p, e := w.process(Options{})
	known := func(user string) *identity {
		p.clients.mu.Lock()
		defer p.clients.mu.Unlock()
		return p.clients.byIdentity[user]
	}
	acts := func(programs ...*policy.Program) (warm *identity) {
		t.Helper()
		if err := e.Set(programs, nil); err != nil {
			t.Fatal(err)
		}
		w.eventually("something is asked as "+programs[0].Identity(), func(context.Context) error {
			if warm = known(programs[0].Identity()); warm == nil {
				return fmt.Errorf("nothing was")
			}
			return nil
		})
		return warm
	}
	var last *identity
	for i := range 4 {
		name := fmt.Sprintf("account-%d", i)
		w.account(name)
		last = acts(w.actingAs(name))
	}
	user := w.actingAs("account-3").Identity()
	acts(w.actingAs("account-3", "  requeueAfter: duration('10m')\n"))
	time.Sleep(5 * p.pace.idle)
	if known(user) != last {
		t.Error("a policy that was changed has lost its clients")
	}
	if err := e.Set(nil, nil); err != nil {
		t.Fatal(err)
	}
	w.eventually("no clients are left but Ambit's own", func(context.Context) error {
		p.clients.mu.Lock()
		defer p.clients.mu.Unlock()
		if n := len(p.clients.byIdentity); n != 1 || p.clients.byIdentity[""] != p.own {
			return fmt.Errorf("there are %d", n)
		}
		return nil
	})
}
