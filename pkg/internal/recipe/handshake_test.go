package recipe_test

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ambit-dev/ambit/test/raced"
)

// TestHandshake: clients connect by TLS, twice a second, through renewals of certificate and CA without one failed handshake: one
// that takes its bundle later than the server its certificate, and one that takes it earlier.
func TestHandshake(t *testing.T) {
	raced.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.now = time.Now().UTC()
		ca, leaf := authority(), serving()
		ca.Lifetime, ca.Propagation, ca.LeafLifetime = 80*time.Second, 4*time.Second, 16*time.Second
		leaf.Lifetime = 16 * time.Second
		w.add("ca")
		w.add("leaf")
		var until time.Time
		var keys, bundles []string // what the Secrets had, twice a second; the newest last
		certificates, signers := map[string]bool{}, map[string]bool{}
		for tick := 0; len(signers) < 4 || len(certificates) < 10; tick++ {
			w.now = time.Now().UTC().Truncate(time.Second)
			if !w.now.Before(until) {
				until = w.reconcile("ca", ca)
				if next := w.reconcile("leaf", leaf); next.Before(until) {
					until = next
				}
			}
			keys = append(keys, w.value("leaf", "tls.crt")+w.value("leaf", "tls.key"))
			bundles = append(bundles, w.value("leaf", "ca.crt"))
			certificates[w.value("leaf", "tls.crt")], signers[w.value("ca", "tls.crt")] = true, true
			for _, lag := range []struct{ server, client int }{{0, 0}, {0, 7}, {7, 0}, {3, 6}} {
				if err := connect(before(keys, lag.server), before(bundles, lag.client)); err != nil {
					t.Fatalf("after %d ticks, %d CAs and %d certificates, with a server %d and a client %d ticks behind: %v", tick, len(signers), len(certificates), lag.server, lag.client, err)
				}
			}
			time.Sleep(500 * time.Millisecond)
		}
	})
}

// before is what was so many ticks ago, or first.
func before(list []string, ticks int) string { return list[max(0, len(list)-1-ticks)] }

// quickCurve is what keys are exchanged with: the default takes most of a handshake, and nothing here is about it.
const quickCurve = tls.CurveP256

// connect has a client with a bundle make a handshake with a server.
func connect(certificate, bundle string) error {
	pair, err := tls.X509KeyPair([]byte(certificate), []byte(certificate))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM([]byte(bundle)) {
		return fmt.Errorf("no CA in the bundle")
	}
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, CurvePreferences: []tls.CurveID{quickCurve}})
	if err != nil {
		return err
	}
	defer listener.Close()
	done := make(chan error, 1)
	go func() {
		conn, err := listener.Accept()
		if err == nil {
			err = errors.Join(conn.(*tls.Conn).Handshake(), conn.Close())
		}
		done <- err
	}()
	conn, err := tls.Dial("tcp", listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: "web.team.svc", CurvePreferences: []tls.CurveID{quickCurve}})
	if err != nil {
		<-done
		return err
	}
	defer conn.Close()
	return <-done
}

// TestHandshakeRefused: without the time that clients need the same clients are refused, so that TestHandshake can fail.
func TestHandshakeRefused(t *testing.T) {
	w := newWorld(t)
	w.now = time.Now().UTC().Truncate(time.Second)
	ca, leaf := authority(), serving()
	ca.Propagation = 0
	w.add("ca")
	w.add("leaf")
	w.mustMake("ca", ca)
	old := w.value("ca", "ca.crt")
	w.annotations("ca")["ambit.dev/rotate"] = "now"
	w.mustMake("ca", ca)
	w.mustMake("leaf", leaf)
	if err := connect(w.value("leaf", "tls.crt")+w.value("leaf", "tls.key"), old); err == nil {
		t.Error("a client takes the certificate of a CA that it does not know")
	}
}
