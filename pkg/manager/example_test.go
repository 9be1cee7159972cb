package manager_test

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// settings is a whole operator: each Memcached has a ConfigMap with its size.
const settings = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: settings}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: settings
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}"}
        data: {size: "${string(owner.spec.size)}"}
`

func ExampleRun() {
	logger := logr.FromSlogHandler(slog.NewTextHandler(os.Stderr, nil))
	ctrl.SetLogger(logger) // without a logger controller-runtime complains
	klog.SetLogger(logger) // what client-go says
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, logger); err != nil {
		logger.Error(err, "not a clean end")
		os.Exit(1)
	}
}

// run is the operator until ctx ends.
func run(ctx context.Context, logger logr.Logger) error {
	programs, err := compile("settings.yaml", settings)
	if err != nil {
		return err
	}
	config, err := ctrl.GetConfig() // of the kubeconfig, or of the cluster that this runs in
	if err != nil {
		return err
	}
	config.QPS = -1 // no limit on this side: the API server has its own
	return manager.Run(ctx, manager.Options{
		Config:        config,
		Programs:      programs,
		Namespaces:    []string{"team-a"},
		Election:      manager.Election{Mode: manager.ElectionLease, Namespace: "team-a"},
		ProbeAddress:  ":8081",
		Metrics:       metrics.Registry,
		MetricsServer: manager.MetricsServer{Address: ":8443"},
		Logger:        logger,
	})
}

// compile makes programs of all policies in a text, that can run beside each other.
func compile(file, text string) ([]*policy.Program, error) {
	documents, err := syntax.Parse(file, []byte(text))
	if err != nil {
		return nil, err
	}
	var programs []*policy.Program
	for _, document := range documents {
		program, err := policy.Compile(document)
		if err != nil {
			return nil, err // syntax.Errors: each with its line and column
		}
		programs = append(programs, program)
	}
	return programs, policy.CheckConflicts(programs)
}
