package cli

import (
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/manager"
)

// The values of --policies-from.
const (
	fromCRD       = "crd"
	fromConfigMap = "configmap"
)

func (o *runOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	addFilesFlag(flags, &o.Files)
	flags.StringSliceVar(&o.PoliciesFrom, "policies-from", nil,
		"Where policies come from beside -f, separated by commas: crd (ReconcilePolicy objects), configmap (ConfigMaps with the label ambit.dev/policy-source=true)")
	flags.BoolVar(&o.RetireRemovedFiles, "retire-removed-files", false,
		"Clean up after a policy that is removed from its file, or with it, after 5 seconds; without this it is stopped, and what it made stays")
	flags.BoolVar(&o.AllowInvalid, "allow-invalid", false, "Run the policies without mistakes; those with mistakes only clean up after owners that are deleted")
	flags.StringVarP(&o.Namespace, "namespace", "n", defaultOwnNamespace(),
		"Ambit's own namespace, and that of policies in files that say none "+ownNamespaceDefault)
	flags.StringSliceVar(&o.Namespaces, "namespaces", namesIn(os.Getenv(watchNamespaceVar)),
		"Namespaces to work in, separated by commas; empty: all (default: $"+watchNamespaceVar+")")
	flags.IntVar(&o.Concurrency, "concurrency", 10, "How many owners are worked on at once")
	flags.Float32Var(&o.QPS, "qps", -1, "Limit of requests a second on the client's side; -1: none")
	flags.IntVar(&o.Burst, "burst", 0, "How many requests may exceed --qps for a moment; 0: as many as --qps")
	o.addElectionFlags(flags)
	o.addServerFlags(flags)
	o.Cluster.addFlags(flags)
	o.Logging.addFlags(flags)
}

func (o *runOptions) addElectionFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Election, "leader-elect", manager.ElectionOff,
		"Which of several replicas works. off: this one; lease: the one that holds Lease ambit; life: the one whose Pod owns ConfigMap ambit-leader")
	flags.StringVar(&o.ElectionNamespace, "leader-election-namespace", "", "Namespace of the Lease (default: --namespace)")
}

func (o *runOptions) addServerFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.Probes, "health-probe-bind-address", "0", "Address to serve /healthz and /readyz on, such as :8081; 0: nowhere")
	flags.StringVar(&o.Metrics.Address, "metrics-bind-address", "0", "Address to serve /metrics and /policies on, such as :8443; 0: nowhere")
	flags.BoolVar(&o.MetricsSecure, "metrics-secure", true,
		"Serve metrics by HTTPS, to those who may get /metrics: this asks the API server with TokenReviews and SubjectAccessReviews. false: by HTTP and to anybody")
	flags.StringVar(&o.Metrics.Certificates, "metrics-cert-path", "", "Folder with tls.crt and tls.key for metrics (default: a certificate is made at the start)")
	flags.BoolVar(&o.Metrics.HTTP2, "enable-http2", false, "Allow HTTP/2 for metrics")
	flags.StringVar(&o.Pprof, "pprof-bind-address", "0", "Address to serve profiles on by HTTP, to anybody, such as localhost:6060; 0: nowhere")
}

// checkFlags returns the first mistake in the flags.
func (o *runOptions) checkFlags() error {
	var err error
	if o.Namespaces, err = checkNamespaces(o.Namespaces); err != nil {
		return err
	}
	if err := checkNamespace("--namespace", o.Namespace); err != nil {
		return err
	}
	if o.ElectionNamespace != "" {
		if err := checkNamespace("--leader-election-namespace", o.ElectionNamespace); err != nil {
			return err
		}
	}
	for _, from := range o.PoliciesFrom {
		if from != fromCRD && from != fromConfigMap {
			return usageErrorf("--policies-from: there is no %q, only %s and %s", from, fromCRD, fromConfigMap)
		}
	}
	if o.Concurrency < 1 {
		return usageErrorf("--concurrency is %d, must be 1 or more", o.Concurrency)
	}
	if o.QPS == 0 || o.Burst < 0 {
		return usageErrorf("--qps must not be 0 (-1: no limit) and --burst must not be negative")
	}
	return o.checkElection()
}

// clusterConfig returns how to reach the API server.
func (o *runOptions) clusterConfig() (*rest.Config, error) {
	config, err := o.Cluster.restConfig()
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = o.QPS, o.Burst
	if o.Burst == 0 && o.QPS > 0 {
		config.Burst = max(1, int(o.QPS))
	}
	return config, nil
}
