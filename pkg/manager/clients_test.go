package manager

import (
	"cmp"
	"context"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
)

// TestClientsAsSomebodyElse: nobody acts as a ServiceAccount while impersonating: the API
// server would look at the credentials' right to do so, not at the impersonated user's.
func TestClientsAsSomebodyElse(t *testing.T) {
	c := newClients(&rest.Config{Host: "http://127.0.0.1:1", Impersonate: rest.ImpersonationConfig{UserName: "somebody"}})
	if _, err := c.identityFor(""); err != nil {
		t.Errorf("as oneself: %v", err)
	}
	if _, err := c.writerFor("system:serviceaccount:a:b"); err == nil || !strings.Contains(err.Error(), `while impersonating "somebody"`) {
		t.Errorf("as a ServiceAccount: %v", err)
	}
}

// TestClientsShareConnections: each identity is who it is, and all have one connection, also
// where client-go does not know that two configurations mean the same.
func TestClientsShareConnections(t *testing.T) {
	w := newWorld(t)
	w.grantCluster(w.namespace, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: ambit}, rule("", "serviceaccounts", "impersonate"))
	config, dials := control.Cluster(t).User(ambit), atomic.Int32{}
	config.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials.Add(1)
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}
	c := newClients(config)
	for _, user := range []string{"", "system:serviceaccount:a:b", "system:serviceaccount:a:c", ""} {
		i, err := c.identityFor(user)
		if err != nil {
			t.Fatal(err)
		}
		defer i.http.CloseIdleConnections()
		w.eventually("it is known who this is", func(ctx context.Context) error {
			got, err := whoAmI(ctx, i)
			if err == nil && got != cmp.Or(user, ambit) {
				t.Errorf("%q is taken for %q", user, got)
			}
			return err
		})
	}
	if n := dials.Load(); n != 1 {
		t.Errorf("%d connections were made", n)
	}
}

// TestClientsDropped: clients go when they were not used for as long as is said; those of
// Ambit itself stay.
func TestClientsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClients(&rest.Config{Host: "http://127.0.0.1:1"})
		known := func() int { return len(c.byIdentity) }
		get := func(user string) *identity {
			i, err := c.identityFor(user)
			if err != nil {
				t.Fatal(err)
			}
			return i
		}
		own, busy := get(""), get("busy")
		get("asked")
		get("idle")
		time.Sleep(time.Minute)
		get("asked")
		c.dropUnused(map[string]bool{"busy": true}, time.Now().Add(-time.Minute))
		if known() != 4 {
			t.Fatalf("%d are left after a minute", known())
		}
		time.Sleep(time.Second)
		c.dropUnused(nil, time.Now().Add(-time.Minute))
		if known() != 3 || get("busy") != busy {
			t.Fatalf("%d are left after a minute and a second", known())
		}
		time.Sleep(time.Hour)
		c.dropUnused(nil, time.Now().Add(-time.Minute))
		if known() != 1 || get("") != own {
			t.Errorf("%d are left after an hour", known())
		}
	})
}
