package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// cleanupOptions are the flags of `ambit cleanup`.
type cleanupOptions struct {
	genericiooptions.IOStreams
	// Files are the values of -f.
	Files []string
	// Namespace is Ambit's own: policies in it act as the caller.
	Namespace string
	// AsCaller: all policies act as the caller, not as the accounts of their namespaces.
	AsCaller bool
	// Namespaces to work in; empty: all.
	Namespaces []string
	// Timeout is how long to try; 0: until it is done.
	Timeout time.Duration
	// Force: also while the cluster has the policy.
	Force bool
	// Output is "", json or yaml.
	Output string
	// Cluster says how to reach the API server.
	Cluster *genericclioptions.ConfigFlags
}

// cleanupTimeout is the default of --timeout.
const cleanupTimeout = 5 * time.Minute

func newCleanup(streams genericiooptions.IOStreams) *cobra.Command {
	o := &cleanupOptions{IOStreams: streams, Cluster: clusterFlags()}
	cmd := &cobra.Command{
		Use:   "cleanup -f POLICY",
		Short: "Remove what policies have made, before they go",
		Long: `Remove for all owners of policies, and for the policies themselves, what was made:
children as their onDelete says (Orphan leaves them behind), fields merged into
objects of others, objects of ensure, and the finalizers and annotations on the
owners. The owners stay, as do their conditions and the rest of their status. What
is not provably the policy's is not touched.

Stop ` + "`ambit run`" + ` for files of these policies first: it would make everything anew.
A policy that a ReconcilePolicy or a ConfigMap in the cluster has is refused, as
another Ambit may serve it: delete that first, a ReconcilePolicy with --wait=false if
no Ambit runs. When all is cleaned up, the finalizer of a ReconcilePolicy that is
being deleted is taken off as well, so that it goes.

Each policy acts as it would in the cluster: one without metadata.namespace, or in
Ambit's own (-n), as you unless it names a ServiceAccount; one in any other namespace
as the ServiceAccount of that namespace that it names, or default, and only for owners
there unless it has a scope. stderr says as whom. With --as-caller all act as you,
wherever their files say: for accounts that are gone, and for policies that
` + "`ambit run -f`" + ` has run as Ambit itself.

It works with a policy that does not compile, too. Then only what the owners have
on record is removed: what garbage collection would not remove when an owner goes.
What has an ownerReference stays until then.

It ends when nothing is left, when the ServiceAccount of what is left is not there
(unless --timeout is 0), or after --timeout. Exit code 1 when something is left;
stdout then says what, and why.`,
		Example: example(`
# All that a policy has made
ambit cleanup -f policies/memcached.yaml

# In some namespaces, and without an end: rights may come
ambit cleanup -f policies/memcached.yaml --namespaces team-a,team-b --timeout 0`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	flags := cmd.Flags()
	addFilesFlag(flags, &o.Files)
	flags.StringSliceVar(&o.Namespaces, "namespaces", namesIn(os.Getenv(watchNamespaceVar)),
		"Namespaces to work in, separated by commas; empty: all (default: $"+watchNamespaceVar+")")
	flags.StringVarP(&o.Namespace, "namespace", "n", ownNamespace(os.Getenv, os.ReadFile),
		"Ambit's own namespace: policies in it act as you (default: $"+podNamespaceVar+", that of the Pod's ServiceAccount, or "+defaultNamespace+")")
	flags.BoolVar(&o.AsCaller, "as-caller", false, "Act as you for all policies, and not as the ServiceAccounts of their namespaces")
	flags.DurationVar(&o.Timeout, "timeout", cleanupTimeout, "How long to try, such as 30s or 10m; 0: until nothing is left")
	flags.BoolVar(&o.Force, "force", false, "Clean up also while a ReconcilePolicy or a ConfigMap in the cluster has the policy: for namespaces in which Ambit does not serve it any more")
	addOutputFlag(flags, &o.Output, "json", "yaml")
	o.Cluster.AddFlags(flags)
	return cmd
}

// Run removes what the policies have made.
func (o *cleanupOptions) Run(ctx context.Context) error {
	var err error
	if o.Namespaces, err = checkNamespaces(o.Namespaces); err != nil {
		return err
	}
	if err := checkNamespace("--namespace", o.Namespace); err != nil {
		return err
	}
	if o.Timeout < 0 {
		return usageErrorf("--timeout is %s, must not be negative", o.Timeout)
	}
	programs, err := o.load()
	if err != nil {
		return err
	}
	c, err := connect(o.Cluster)
	if err != nil {
		return err
	}
	if err := o.refuseServed(ctx, c, programs); err != nil {
		return err
	}
	done, problems, err := o.retire(ctx, c, programs)
	if err != nil {
		return clusterError(err)
	}
	if !done {
		return o.sayWhatIsLeft(context.WithoutCancel(ctx), c, programs, problems)
	}
	if held := o.release(ctx, c, programs); len(held) > 0 {
		return o.printLeft(held)
	}
	fmt.Fprintf(o.ErrOut, "%s cleaned up: nothing is left\n", plural(len(programs), "policy"))
	return nil
}

// load returns the policies, those with mistakes as far as they can be salvaged.
func (o *cleanupOptions) load() ([]*policy.Program, error) {
	l, err := load(o.Files, o.In)
	if err != nil {
		return nil, err
	}
	printFindings(o.ErrOut, l.findings)
	for _, broken := range l.broken {
		fmt.Fprintf(o.ErrOut, "policy %q has mistakes: only what owners have on record is removed\n", broken.Name)
	}
	programs := append(l.programs, l.broken...)
	if len(programs) == 0 {
		return nil, l.mistakes()
	}
	programs = o.actors(programs)
	if err := policy.CheckConflicts(programs); err != nil {
		return nil, &exitError{code: exitFindings, err: err}
	}
	return programs, nil
}

// retire runs the engine until nothing is left, nothing comes of waiting, the time is
// over or ctx ends. The
// problems are what keeps policies from being cleaned up, as far as the engine knows.
func (o *cleanupOptions) retire(ctx context.Context, c *cluster, programs []*policy.Program) (done bool, problems []leftover, err error) {
	useLogger(logr.Discard())
	if o.Timeout > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, o.Timeout, errors.New("the time is over"))
		defer stop()
	}
	var state cleanupState
	stop := progress(o.ErrOut, state.next)
	defer stop()
	err = manager.Run(ctx, manager.Options{
		Config: c.withoutTimeout(), Retire: programs, Namespaces: o.Namespaces,
		While: func(ctx context.Context, e *controller.Controller) {
			done = o.awaitRetired(ctx, e, programs, &state)
			problems = engineProblems(e, programs)
		},
	})
	return done, problems, err
}

// withoutTimeout is how to reach the API server with streams, which have no end.
func (c *cluster) withoutTimeout() *rest.Config {
	config := rest.CopyConfig(c.config)
	config.Timeout = 0
	return config
}
