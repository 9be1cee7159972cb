package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/ambit-dev/ambit/pkg/internal/version"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// watchNamespaceVar is the environment variable that operators by convention
// take their namespaces from.
const watchNamespaceVar = "WATCH_NAMESPACE"

// defaultServer is what kubectl's flags fall back to where nothing names a
// server. An operator that went on with it would only say that nobody answers.
const defaultServer = "http://localhost:8080"

// runOptions are the flags of `ambit run`.
type runOptions struct {
	genericiooptions.IOStreams
	// Files are the values of -f.
	Files []string
	// Namespaces to work in; empty: all.
	Namespaces []string
	// Concurrency is how many owners are worked on at once, 1 or more.
	Concurrency int
	// QPS is the limit of requests a second on the client's side; -1: none.
	QPS float32
	// Burst is how many requests may exceed QPS for a moment.
	Burst int
	// Cluster says how to reach the API server.
	Cluster *genericclioptions.ConfigFlags
	// Logging are the zap flags.
	Logging *logging
}

func newRun(streams genericiooptions.IOStreams) *cobra.Command {
	o := &runOptions{IOStreams: streams, Cluster: clusterFlags(), Logging: newLogging()}
	cmd := &cobra.Command{
		Use:   "run -f FILE|FOLDER",
		Short: "Be the operator that the policies describe",
		Long: `Run policies until SIGTERM or SIGINT. The API server is the one of the kubeconfig,
or without one that of the cluster that ambit runs in.

Requests are not limited on the client's side unless --qps says so: the API
server's priority and fairness does that.`,
		Example: example(`
# With the current context of the kubeconfig
ambit run -f policies/memcached.yaml

# In two namespaces, with rights in these only
ambit run -f policies --namespaces team-a,team-b

# As another account, to see what it may do
ambit run -f policies --as system:serviceaccount:ambit-system:ambit`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	o.addFlags(cmd)
	return cmd
}

func (o *runOptions) addFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	addFilesFlag(flags, &o.Files)
	flags.StringSliceVar(&o.Namespaces, "namespaces", namesIn(os.Getenv(watchNamespaceVar)),
		"Namespaces to work in, separated by commas; empty: all (default: $"+watchNamespaceVar+")")
	flags.IntVar(&o.Concurrency, "concurrency", 10, "How many owners are worked on at once")
	flags.Float32Var(&o.QPS, "qps", -1, "Limit of requests a second on the client's side; -1: none")
	flags.IntVar(&o.Burst, "burst", 0, "How many requests may exceed --qps for a moment; 0: as many as --qps")
	o.Cluster.AddFlags(flags)
	o.Logging.addFlags(flags)
}

// Run is the operator until ctx ends.
func (o *runOptions) Run(ctx context.Context) error {
	if err := o.check(); err != nil {
		return err
	}
	programs, err := loadValid(o.Files, o.In, o.ErrOut)
	if err != nil {
		return err
	}
	if err := policy.Together(programs); err != nil {
		return &exitError{code: exitFindings, err: err}
	}
	config, err := o.config()
	if err != nil {
		return clusterError(err)
	}
	logger := o.Logging.logger(o.ErrOut)
	useLogger(logger)
	logger.Info("starting", "version", version.String(), "policies", len(programs), "namespaces", o.Namespaces, "server", config.Host)
	return clusterError(manager.Run(ctx, manager.Options{
		Config:      config,
		Programs:    programs,
		Namespaces:  o.Namespaces,
		Concurrency: o.Concurrency,
		Logger:      logger,
	}))
}

// check returns the first mistake in the flags.
func (o *runOptions) check() error {
	o.Namespaces = namesIn(strings.Join(o.Namespaces, ","))
	for _, name := range o.Namespaces {
		if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
			return usageErrorf("--namespaces: %q is not the name of a namespace: %s", name, problems[0])
		}
	}
	if o.Concurrency < 1 {
		return usageErrorf("--concurrency is %d, must be 1 or more", o.Concurrency)
	}
	if o.QPS == 0 || o.Burst < 0 {
		return usageErrorf("--qps must not be 0 (-1: no limit) and --burst must not be negative")
	}
	return nil
}

// config returns how to reach the API server.
func (o *runOptions) config() (*rest.Config, error) {
	config, err := o.Cluster.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	if config.Host == defaultServer && *o.Cluster.APIServer == "" {
		return nil, errors.New("there is no kubeconfig, and no cluster around this process: use --kubeconfig or --server")
	}
	config.QPS, config.Burst = o.QPS, o.Burst
	if o.Burst == 0 && o.QPS > 0 {
		config.Burst = max(1, int(o.QPS))
	}
	config.UserAgent = "ambit/" + version.String()
	return config, nil
}

// clusterFlags returns kubectl's flags for reaching a cluster, those that make
// sense for a program that runs on: no timeout for its streams, no cache folder,
// no default namespace.
func clusterFlags() *genericclioptions.ConfigFlags {
	flags := genericclioptions.NewConfigFlags(false)
	flags.Namespace, flags.Timeout, flags.CacheDir, flags.DisableCompression = nil, nil, nil, nil
	return flags
}

// useLogger makes the logger that of the libraries too.
func useLogger(logger logr.Logger) {
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
}

// namesIn splits a list at its commas; blanks are nothing, names come once,
// sorted.
func namesIn(list string) []string {
	var names []string
	for _, name := range strings.Split(list, ",") {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
