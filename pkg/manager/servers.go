package manager

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
)

// stopTimeout is how long a stop may take, servers with open requests included. A Pod
// has 30 s before it is killed, unless its manifest says otherwise.
const stopTimeout = 25 * time.Second

// newManager makes controller-runtime's manager, without parts of ours. All parts are cut
// off when base ends, and cut ends it.
func (p *process) newManager(base context.Context, cut context.CancelCauseFunc) (ctrlmanager.Manager, error) {
	o, timeout := p.options, stopTimeout
	metrics, err := metricsOptions(o.MetricsServer)
	if err != nil {
		return nil, err
	}
	metrics.ExtraHandlers = map[string]http.Handler{policiesPath: http.HandlerFunc(p.readiness.serveNames)}
	options := ctrlmanager.Options{
		Metrics: metrics, HealthProbeBindAddress: "0", PprofBindAddress: addressOrOff(o.PprofAddress),
		MapperProvider: func(config *rest.Config, _ *http.Client) (meta.RESTMapper, error) {
			return apiutil.NewDynamicRESTMapper(config, p.discoveryClient())
		},
		GracefulShutdownTimeout: &timeout,
		Logger:                  p.log.WithName("manager").V(1),
		BaseContext:             func() context.Context { return base },
	}
	if o.Election.Mode == ElectionLease {
		if err := p.setElection(&options, cut); err != nil {
			return nil, err
		}
	}
	m, err := ctrlmanager.New(p.own.config, options)
	if err != nil {
		return nil, fmt.Errorf("preparing the manager: %w", err)
	}
	return m, p.serveProbes(m)
}

// setElection has the manager hold a Lease while it works.
func (p *process) setElection(options *ctrlmanager.Options, cut context.CancelCauseFunc) error {
	lock, err := p.newLock(cut)
	if err != nil {
		return err
	}
	p.lease = lock
	duration, deadline, retry := leaseDuration, leaseDeadline, leaseRetry
	options.LeaderElection, options.LeaderElectionID, options.LeaderElectionResourceLockInterface = true, leaseName, lock
	options.LeaseDuration, options.RenewDeadline, options.RetryPeriod = &duration, &deadline, &retry
	options.LeaderElectionReleaseOnCancel = true // Run returns only when nothing writes any more
	return nil
}

// metricsOptions says how metrics are served. Certificates that are not there are an
// error: controller-runtime would make one instead.
func metricsOptions(s MetricsServer) (metricsserver.Options, error) {
	o := metricsserver.Options{BindAddress: addressOrOff(s.Address), SecureServing: !s.Insecure}
	if isOff(s.Address) || s.Insecure {
		return o, nil
	}
	o.FilterProvider = newMetricsFilter
	if !s.HTTP2 {
		o.TLSOpts = append(o.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	if s.Certificates == "" {
		return o, nil
	}
	o.CertDir = s.Certificates
	for _, name := range []string{"tls.crt", "tls.key"} {
		if _, err := os.Stat(filepath.Join(s.Certificates, name)); err != nil {
			return o, fmt.Errorf("looking for the certificate of the metrics server: %w", err)
		}
	}
	return o, nil
}

// policiesPath is where the metrics server says which policies do not do all of their work.
// It is not /readyz, which Kubernetes lets everybody get who asks the API server.
const policiesPath = "/policies"

func addressOrOff(address string) string {
	if isOff(address) {
		return "0"
	}
	return address
}

// serveProbes adds the server of probes. It is our own because that of
// controller-runtime says no more than that something is wrong.
func (p *process) serveProbes(m ctrlmanager.Manager) error {
	if isOff(p.options.ProbeAddress) {
		return nil
	}
	listener, err := net.Listen("tcp", p.options.ProbeAddress)
	if err != nil {
		return fmt.Errorf("listening for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("/readyz", p.readiness)
	timeout := time.Second
	return m.Add(&ctrlmanager.Server{
		Name: "probes", Listener: listener, ShutdownTimeout: &timeout,
		Server: &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 90 * time.Second},
	})
}
