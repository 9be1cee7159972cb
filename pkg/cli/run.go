package cli

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"slices"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"go.opentelemetry.io/otel"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/ambit-dev/ambit/pkg/internal/manifests"
	"github.com/ambit-dev/ambit/pkg/internal/version"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// runOptions are the flags of `ambit run`.
type runOptions struct {
	commandEnv
	// Files are the values of -f.
	Files []string
	// PoliciesFrom are the sources beside Files: crd, configmap.
	PoliciesFrom []string
	// RetireRemovedFiles: policies that are removed from Files are cleaned up after.
	RetireRemovedFiles bool
	// AllowInvalid: policies with mistakes do not keep the others from running.
	AllowInvalid bool
	// Namespace is the own one.
	Namespace string
	// Namespaces to work in; empty: all.
	Namespaces []string
	// Concurrency is how many owners are worked on at once, 1 or more.
	Concurrency int
	// Election is how one of several replicas is chosen: off, lease or life.
	Election string
	// ElectionNamespace is where replicas meet; empty: in Namespace.
	ElectionNamespace string
	// Probes and Pprof are where those are served; "0" for nowhere.
	Probes, Pprof string
	// Metrics is how metrics are served.
	Metrics manager.MetricsServer
	// MetricsSecure is the opposite of Metrics.Insecure.
	MetricsSecure bool
	// QPS is the limit of requests a second on the client's side; -1: none.
	QPS float32
	// Burst is how many requests may exceed QPS for a moment.
	Burst int
	// Cluster says how to reach the API server.
	Cluster clusterFlags
	// Logging are the zap flags.
	Logging *logging
}

func newRunCommand(env commandEnv) *cobra.Command {
	o := &runOptions{commandEnv: env, Logging: newLogging()}
	cmd := &cobra.Command{
		Use:   "run -f FILE|FOLDER ... [--policies-from crd,configmap]",
		Short: "Be the operator that the policies describe",
		Long: `Run policies until SIGTERM or SIGINT. The API server is the one of the kubeconfig,
or without one that of the cluster that ambit runs in.

Requests are not limited on the client's side unless --qps says so: the API
server's priority and fairness does that.

Files and folders given by -f are read again when they change. With --policies-from
policies are taken from the cluster as well: crd means ReconcilePolicy objects,
configmap the keys ending in .yaml of ConfigMaps with the label ambit.dev/policy-source=true.
They are read in all namespaces where that is permitted, else in Ambit's own and in
those of --namespaces. In other namespaces than Ambit's own a policy acts as a
ServiceAccount of its namespace. A new version of a policy that does not compile leaves
the one before it running.

A policy that says spec.retire: true is cleaned up after; so is one whose
ReconcilePolicy or ConfigMap is deleted. One whose file has no more text of it, or is
not there, is stopped instead, and what it made stays: that may be a full disk, or a
volume that is not mounted. With --retire-removed-files it is cleaned up after as well,
if the folder is there.

At the start expressions are checked for fields that no object of the kind has,
against the schemas that the API server publishes, as by ` + "`ambit validate --crds`" + `;
kinds whose schema is not to be had are not checked.

With -f only, policies in files that do not compile are refused at the start. With
--allow-invalid, and with --policies-from, they are not: their mistakes
are printed, the others run, and of the broken ones the deletion of owners is
finished, from what the owners say themselves: objects that no garbage collection
would remove, and the finalizer. Nothing is made or changed for them.

Of several replicas with --leader-elect one works. With lease another one takes over
when it stops, or 17 seconds after it was killed at the latest; with life, which needs
$POD_NAME, when its Pod is gone.

Traces are sent by OTLP over HTTP if $OTEL_EXPORTER_OTLP_ENDPOINT is set, as the other
environment variables of OpenTelemetry say.`,
		Example: indentExample(`
# With the current context of the kubeconfig
ambit run -f policies/memcached.yaml

# In two namespaces, with rights in these only
ambit run -f policies --namespaces team-a,team-b

# All that compile, whatever the rest
ambit run -f policies --allow-invalid

# Policies that are applied to the cluster
ambit run --policies-from crd,configmap

# As another account, to see what it may do
ambit run -f policies --as system:serviceaccount:ambit-system:ambit

# In a cluster, beside other replicas
ambit run -f policies --leader-elect=lease --health-probe-bind-address :8081 --metrics-bind-address :8443`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	o.addFlags(cmd)
	return cmd
}

// Run is the operator until ctx ends.
func (o *runOptions) Run(ctx context.Context) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	limitGarbage(garbageAtStart)
	profileMemory(o.Pprof != "" && o.Pprof != "0")
	stdin, err := o.readInput()
	if err != nil {
		return err
	}
	files, err := o.readFiles(stdin)
	if err != nil {
		return err
	}
	config, err := o.clusterConfig()
	if err != nil {
		untyped := manifests.CompilePolicies(files, policy.Options{Functions: o.Functions})
		return cmp.Or(o.refusePolicies(untyped), clusterError(err))
	}
	logger := o.Logging.newLogger(o.ErrOut)
	useLogger(logger)
	schemasOf := func(ctx context.Context, kinds []schema.GroupVersionKind) policy.Schemas {
		return readPublished(ctx, config, kinds, logger)
	}
	compiled := manifests.CompilePolicies(files, policy.Options{Schemas: schemasOf(ctx, manifests.KindsIn(files)), Functions: o.Functions})
	if err := o.refusePolicies(compiled); err != nil {
		return err
	}
	logger.Info("starting", "version", version.String(), "sources", o.sourceNames(), "namespaces", o.Namespaces, "server", config.Host)
	return o.runManager(ctx, config, manager.Sources{
		Files: o.Files, RetireRemovedFiles: o.RetireRemovedFiles, In: bytes.NewReader(stdin), Namespace: o.Namespace, Schemas: schemasOf, Compiled: compiled.ProgramsOf, Functions: o.Functions,
		CustomResources: slices.Contains(o.PoliciesFrom, fromCRD), ConfigMaps: slices.Contains(o.PoliciesFrom, fromConfigMap),
	}, logger)
}

// readInput reads stdin, if it is one of the files: it can be read once only.
func (o *runOptions) readInput() ([]byte, error) {
	if !slices.Contains(o.Files, "-") {
		return nil, nil
	}
	data, err := syntax.ReadText(o.In)
	if err != nil {
		return nil, fmt.Errorf("reading the policies on stdin: %w", err)
	}
	return data, nil
}

// readFiles parses the files, which must have a policy. Where there are other sources
// nothing is refused at the start: what is wrong with files is said as for the others.
func (o *runOptions) readFiles(stdin []byte) ([]manifests.Source, error) {
	if len(o.PoliciesFrom) > 0 {
		return nil, nil
	}
	return manifests.ReadPolicies(o.Files, o.Namespace, bytes.NewReader(stdin))
}

// runManager runs what the sources say, and sends traces of it if that is wanted.
func (o *runOptions) runManager(ctx context.Context, config *rest.Config, sources manager.Sources, logger logr.Logger) error {
	traces, err := manager.StartTraces(ctx, os.Getenv, version.String())
	if err != nil {
		return usageErrorf("%v", err)
	}
	limitGarbage(garbagePercent)
	err = manager.Run(ctx, manager.Options{
		Config:        config,
		Sources:       &sources,
		Namespaces:    o.Namespaces,
		Concurrency:   o.Concurrency,
		Election:      o.electionOptions(),
		ProbeAddress:  o.Probes,
		PprofAddress:  o.Pprof,
		Metrics:       metrics.Registry,
		MetricsServer: o.metricsServer(),
		ReturnMemory:  true,
		Tracer:        traces.Tracer,
		Logger:        logger,
	})
	if unsent := traces.Stop(context.WithoutCancel(ctx)); unsent != nil {
		logger.Error(unsent, "the last traces are lost") // which is no reason for a stop to have failed
	}
	return clusterError(err)
}

// refusePolicies returns why the policies are not to be run; nil if they are. Mistakes are printed.
func (o *runOptions) refusePolicies(found manifests.Policies) error {
	choose := validPrograms
	if o.AllowInvalid && len(o.PoliciesFrom) == 0 {
		choose = runnablePrograms
	}
	programs, err := choose(found, o.ErrOut)
	if err != nil {
		return err
	}
	if err := policy.CheckConflicts(programs); err != nil {
		return &exitError{code: exitFindings, err: err}
	}
	return nil
}

// useLogger makes the logger that of the libraries too.
func useLogger(logger logr.Logger) {
	ctrl.SetLogger(logger)
	klog.SetLogger(logger)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.WithName("traces").Error(err, "traces cannot be sent") }))
}

// sourceNames are where policies come from, for the log.
func (o *runOptions) sourceNames() []string {
	return append(slices.Clone(o.Files), o.PoliciesFrom...)
}

// electionModes are the values of --leader-elect.
func electionModes() []string {
	return []string{manager.ElectionOff, manager.ElectionLease, manager.ElectionLife}
}

// electionOptions says how one of several replicas is chosen.
func (o *runOptions) electionOptions() manager.Election {
	e := manager.Election{Mode: o.Election, Namespace: o.ElectionNamespace, Pod: os.Getenv(podNameVar), PodUID: os.Getenv(podUIDVar)}
	if e.Namespace == "" {
		e.Namespace = o.Namespace
	}
	return e
}

// checkElection returns the first mistake in the flags of leader election.
func (o *runOptions) checkElection() error {
	switch {
	case !slices.Contains(electionModes(), o.Election):
		return usageErrorf("--leader-elect is %q, must be %s", o.Election, joinAlternatives(electionModes()))
	case o.Election == manager.ElectionLife && os.Getenv(podNameVar) == "":
		return usageErrorf("--leader-elect=life needs the name of the Pod in $%s", podNameVar)
	case o.Election == manager.ElectionLife && o.ElectionNamespace != "" && o.ElectionNamespace != o.Namespace:
		return usageErrorf("--leader-elect=life works in the Pod's own namespace: --leader-election-namespace is %q, --namespace is %q",
			o.ElectionNamespace, o.Namespace)
	}
	return nil
}

// metricsServer says how metrics are served.
func (o *runOptions) metricsServer() manager.MetricsServer {
	served := o.Metrics
	served.Insecure = !o.MetricsSecure
	return served
}

const (
	// garbagePercent is how much garbage there may be until it is collected, in percent of what is
	// in use; Go's own default is 100. With 2,000 owners it saves 6 % of the memory at rest and
	// 10 to 19 % at the peak, for 2 % of the processor time; 50 would take 20 % more of that.
	garbagePercent = 70
	// garbageAtStart is the same until the policies are compiled. Three collections of 2 to 4 ms are saved, for a
	// mebibyte that is given back when all is quiet.
	garbageAtStart = 400
)

// limitGarbage sets how much garbage there may be in the process, unless the environment says it.
func limitGarbage(percent int) {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
}

// profileMemory has allocations sampled only where profiles are served: their records take a megabyte.
func profileMemory(isServed bool) {
	if !isServed {
		runtime.MemProfileRate = 0
	}
}
