package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/uninstall"
)

// cleanupOptions are the flags of `ambit cleanup`.
type cleanupOptions struct {
	commandEnv
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
	Cluster clusterFlags
}

// cleanupTimeout is the default of --timeout.
const cleanupTimeout = 5 * time.Minute

func newCleanupCommand(env commandEnv) *cobra.Command {
	o := &cleanupOptions{commandEnv: env}
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
		Example: indentExample(`
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
	flags.StringVarP(&o.Namespace, "namespace", "n", defaultOwnNamespace(),
		"Ambit's own namespace: policies in it, and those of files that say none, act as you "+ownNamespaceDefault)
	flags.BoolVar(&o.AsCaller, "as-caller", false, "Act as you for all policies, and not as the ServiceAccounts of their namespaces")
	flags.DurationVar(&o.Timeout, "timeout", cleanupTimeout, "How long to try, such as 30s or 10m; 0: until nothing is left")
	flags.BoolVar(&o.Force, "force", false, "Clean up also while a ReconcilePolicy or a ConfigMap in the cluster has the policy: for namespaces in which Ambit does not serve it any more")
	addOutputFlag(flags, &o.Output, "json", "yaml")
	o.Cluster.addFlags(flags)
	return cmd
}

// Run removes what the policies have made.
func (o *cleanupOptions) Run(ctx context.Context) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	programs, err := o.loadPolicies()
	if err != nil {
		return err
	}
	cleanup, err := o.prepareCleanup(programs)
	if err != nil {
		return err
	}
	if err := o.refuseServed(ctx, cleanup); err != nil {
		return err
	}
	useLogger(logr.Discard())
	var state cleanupState
	stop := showProgress(o.ErrOut, state.nextMessage)
	cleanup.Progress = state.setProgress
	left, err := cleanup.Run(ctx)
	stop()
	switch {
	case err != nil:
		return clusterError(err)
	case len(left) > 0:
		return o.printLeft(left)
	}
	fmt.Fprintf(o.ErrOut, "%s cleaned up: nothing is left\n", pluralize(len(programs), "policy"))
	return nil
}

// checkFlags returns the first mistake in the flags.
func (o *cleanupOptions) checkFlags() (err error) {
	if o.Namespaces, err = checkNamespaces(o.Namespaces); err != nil {
		return err
	}
	if err := checkNamespace("--namespace", o.Namespace); err != nil {
		return err
	}
	if o.Timeout < 0 {
		return usageErrorf("--timeout is %s, must not be negative", o.Timeout)
	}
	return nil
}

// loadPolicies returns the policies, those with mistakes as far as they can be salvaged.
func (o *cleanupOptions) loadPolicies() ([]*policy.Program, error) {
	programs, err := loadLegible(o.Files, o.Namespace, "-n", o.commandEnv, "only what owners have on record is removed")
	if err != nil {
		return nil, err
	}
	programs = o.actingPrograms(programs)
	if err := policy.CheckConflicts(programs); err != nil {
		return nil, &exitError{code: exitFindings, err: err}
	}
	return programs, nil
}

// actingPrograms returns the programs as Ambit would run them in the cluster: a policy of another
// namespace than Ambit's own acts as a ServiceAccount of its namespace, and has the scope of
// it. With AsCaller all act as the caller instead, where their files say. It prints to
// stderr as whom each acts that does not act as the caller.
func (o *cleanupOptions) actingPrograms(programs []*policy.Program) []*policy.Program {
	acting := make([]*policy.Program, len(programs))
	for i, program := range programs {
		if o.AsCaller {
			as := *program
			as.ServiceAccount = ""
			acting[i] = &as
			continue
		}
		acting[i] = program.InCluster(o.Namespace)
		if account := acting[i].Identity(); account != "" {
			fmt.Fprintf(o.ErrOut, "policy %q acts as %s, as it would in the cluster; with --as-caller as you\n", program.Name, account)
		}
	}
	return acting
}

// prepareCleanup connects to the cluster.
func (o *cleanupOptions) prepareCleanup(programs []*policy.Program) (*uninstall.Cleanup, error) {
	c, err := connectCluster(&o.Cluster)
	if err != nil {
		return nil, err
	}
	scan, err := c.newScan(o.Namespaces...)
	if err != nil {
		return nil, err
	}
	return &uninstall.Cleanup{
		Scan: scan, Config: c.config, CoreV1: c.typed.CoreV1(), Programs: programs, Timeout: o.Timeout,
	}, nil
}

// refuseServed returns findings when an object in the cluster that is not being deleted
// has one of the policies: whoever runs that would make everything anew. Where the
// caller may not look, it prints that, and refuses nothing.
func (o *cleanupOptions) refuseServed(ctx context.Context, cleanup *uninstall.Cleanup) error {
	if o.Force {
		return nil
	}
	served := false
	for _, program := range cleanup.Programs {
		for _, held := range []struct {
			kind, resource string
			by             func(context.Context, *policy.Program) ([]types.NamespacedName, error)
		}{{v1alpha1.Kind, "reconcilepolicies", cleanup.ReconcilePolicies}, {"ConfigMap", "configmaps", cleanup.ConfigMaps}} {
			objects, err := held.by(ctx, program)
			if apierrors.IsForbidden(err) {
				fmt.Fprintf(o.ErrOut, "warning: it is not known whether the cluster has policy %q, as you may not list %s: if an Ambit runs it, everything is made anew\n", program.Name, held.resource)
			} else if err != nil {
				return clusterError(err)
			}
			for _, object := range objects {
				served = true
				o.printServed(program, held.kind, object)
			}
		}
	}
	if !served {
		return nil
	}
	return &exitError{code: exitFindings, err: errors.New("nothing was cleaned up: an Ambit that runs these policies would make everything anew. " +
		"Delete them first: a running Ambit then cleans up by itself; if none runs, call this again afterwards")}
}

// printServed prints where a policy is, and how to delete it.
func (o *cleanupOptions) printServed(program *policy.Program, kind string, object types.NamespacedName) {
	wait := ""
	if kind == v1alpha1.Kind {
		wait = " --wait=false" // it has a finalizer, and it may be that no Ambit runs
	}
	fmt.Fprintf(o.ErrOut, "policy %q is in the cluster, in the %s %s: kubectl delete %s %s -n %s%s\n",
		program.Name, kind, object, strings.ToLower(kind), object.Name, object.Namespace, wait)
}
