package manager

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	certutil "k8s.io/client-go/util/cert"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ambit-dev/ambit/test/freeport"
)

// TestMetricsCertificate: the certificate that is given is the one that is served; one
// that is not there is an error.
func TestMetricsCertificate(t *testing.T) {
	folder, address := t.TempDir(), freeport.ForTest(t)
	served := MetricsServer{Address: address, Certificates: folder}
	err := Run(t.Context(), Options{Config: control.Cluster(t).User(ambit), MetricsServer: served})
	if err == nil || !strings.Contains(err.Error(), "tls.crt") {
		t.Fatalf("without a certificate: %v", err)
	}
	cert, key, err := certutil.GenerateSelfSignedCertKey("metrics.example.com", []net.IP{{127, 0, 0, 1}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"tls.crt": cert, "tls.key": key} {
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w := newWorld(t)
	w.run(Options{Metrics: ctrlmetrics.Registry, MetricsServer: served})
	w.eventually("the certificate is served", func(ctx context.Context) error {
		connection, err := (&tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		defer connection.Close()
		peer := connection.(*tls.Conn).ConnectionState().PeerCertificates[0]
		if err := peer.VerifyHostname("metrics.example.com"); err != nil {
			t.Errorf("another certificate is served: %v", err)
		}
		return nil
	})
}

// TestProfiles: they are served where that is asked for.
func TestProfiles(t *testing.T) {
	w, address := newWorld(t), freeport.ForTest(t)
	w.run(Options{PprofAddress: address})
	w.says("http://"+address+"/debug/pprof/goroutine", "", http.StatusOK)
}

// TestAddressInUse: what cannot be served is an error, not silence.
func TestAddressInUse(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address := taken.Addr().String()
	for name, o := range map[string]Options{
		"probes": {ProbeAddress: address}, "profiles": {PprofAddress: address}, "metrics": {MetricsServer: MetricsServer{Address: address, Insecure: true}},
	} {
		t.Run(name, func(t *testing.T) {
			if err := newWorld(t).run(o).ends(); err == nil || !strings.Contains(err.Error(), "address already in use") {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}
