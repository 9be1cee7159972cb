// Command cmd is the Memcached operator as kubebuilder scaffolds it: flags, manager, controller, health checks.
package main

import (
	"flag"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	cachev1alpha1 "github.com/ambit-dev/ambit/test/kubebuilder/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/kubebuilder/internal/controller"
)

func main() {
	metrics := flag.String("metrics-bind-address", "0", "where metrics are served, :8080 for one; 0 is nowhere")
	probes := flag.String("health-probe-bind-address", ":8081", "where health checks are answered")
	elect := flag.Bool("leader-elect", false, "of several processes only one works at a time")
	logging := zap.Options{Development: true}
	logging.BindFlags(flag.CommandLine)
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&logging)))

	manager, err := newManager(ctrl.GetConfigOrDie(), ctrl.Options{
		Metrics:                metricsserver.Options{BindAddress: *metrics},
		HealthProbeBindAddress: *probes,
		LeaderElection:         *elect,
		LeaderElectionID:       "memcached.cache.example.com",
	})
	if err == nil {
		err = manager.Start(ctrl.SetupSignalHandler())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// newManager returns the operator, to be started. Its scheme is put into the options.
func newManager(config *rest.Config, options ctrl.Options) (ctrl.Manager, error) {
	options.Scheme = runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, cachev1alpha1.AddToScheme} {
		if err := add(options.Scheme); err != nil {
			return nil, fmt.Errorf("making the scheme: %w", err)
		}
	}
	manager, err := ctrl.NewManager(config, options)
	if err != nil {
		return nil, fmt.Errorf("making the manager: %w", err)
	}
	reconciler := &controller.MemcachedReconciler{Client: manager.GetClient(), Scheme: manager.GetScheme()}
	if err := reconciler.SetupWithManager(manager); err != nil {
		return nil, fmt.Errorf("making the controller: %w", err)
	}
	if err := manager.AddHealthzCheck("healthz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the health check: %w", err)
	}
	if err := manager.AddReadyzCheck("readyz", healthz.Ping); err != nil {
		return nil, fmt.Errorf("adding the readiness check: %w", err)
	}
	return manager, nil
}
