package cli

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// leftoversOptions are the flags of `ambit leftovers`.
type leftoversOptions struct {
	commandEnv
	// Files are the values of -f; none: all policies.
	Files []string
	// Namespace to look in; empty: all, and what has none.
	Namespace string
	// AllNamespaces overrides Namespace, as for kubectl.
	AllNamespaces bool
	// OwnNamespace is Ambit's own: policies of files that say no namespace are in it.
	OwnNamespace string
	// Output is table, json or yaml.
	Output string
	// Program is what ambit was called by: `ambit` or `kubectl ambit`.
	Program string
	// Cluster says how to reach the API server.
	Cluster clusterFlags
}

func newLeftoversCommand(env commandEnv) *cobra.Command {
	o := &leftoversOptions{commandEnv: env, Output: "table"}
	cmd := &cobra.Command{
		Use:   "leftovers [-f POLICY]",
		Short: "List what would be stuck or left behind if Ambit were gone",
		Long: `List what needs Ambit: to be typed before it is removed, before an upgrade that
may have to be taken back, and after a removal to see that it is complete. Nothing is
written, and only metadata of objects is read. A finding is one of:

  Finalizer  an owner, or a ReconcilePolicy, with the finalizer ambit.dev/cleanup:
             without Ambit it cannot be deleted
  Record     an owner with a record of objects, in an annotation that would stay
  Child      an object that Ambit has made and that no ownerReference ties to its
             owner: without Ambit nobody deletes it
  Fields     an object of somebody else's with fields that a policy has merged into it
  Ensured    an object that was made for a policy itself

What garbage collection takes when an owner is deleted is none. What a policy left
behind by onDelete: Orphan is one for ever, also when its owner and its policy are long
gone: delete it, or take its label ambit.dev/policy off.

With -f it is about these policies, by namespace and name: the kinds in them, and those that their owners
have on record, up to 64 that no policy names: what is left out is said on stderr. A
policy with mistakes counts as far as it is legible. Without -f it is
about every policy, and each kind that the cluster serves and that may be listed; what
may not is said on stderr.

Without -n it looks in all namespaces and at what has none, whatever the namespace of
the context; with -n only at what is in this namespace.

With -o json or yaml it is an object with two lists. Those in leftovers have finding,
policy, apiVersion, kind, namespace, name and why; those in unseen have group, resource
and why: what could not be looked at.

Exit code 0 when there is nothing, 1 when there is something, 3 when nothing was found
but not all could be looked at. ` + "`ambit cleanup`" + ` removes what a policy has made.`,
		Example: indentExample(`
# Of all policies, wherever
ambit leftovers

# Of some policies
ambit leftovers -f policies

# In a namespace, with rights in this one only
ambit leftovers -f policies/memcached.yaml -n team-a

# For a program
ambit leftovers -o json`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Program = cmd.Root().CommandPath()
			return o.Run(cmd.Context())
		},
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *leftoversOptions) addFlags(flags *pflag.FlagSet) {
	addFilesFlag(flags, &o.Files)
	flags.StringVarP(&o.Namespace, "namespace", "n", "", "Namespace to look in; empty: all, and what has none")
	flags.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "Look in all namespaces, and at what has none, whatever --namespace is; this is the default")
	flags.StringVar(&o.OwnNamespace, "own-namespace", defaultOwnNamespace(),
		"Ambit's own namespace: policies of files that say none are in it "+ownNamespaceDefault)
	addOutputFlag(flags, &o.Output, "table", "json", "yaml")
	o.Cluster.addFlags(flags)
}

// Run lists what there is.
func (o *leftoversOptions) Run(ctx context.Context) error {
	if err := o.checkFlags(); err != nil {
		return err
	}
	programs, err := o.loadPolicies()
	if err != nil {
		return err
	}
	c, err := connectCluster(&o.Cluster)
	if err != nil {
		return err
	}
	scan, err := c.newScan(namesIn(o.Namespace)...)
	if err != nil {
		return err
	}
	var text atomic.Value
	text.Store("")
	scan.Progress = func(done, total int) { text.Store(fmt.Sprintf("%d of %s looked at", done, pluralize(total, "kind"))) }
	stop := showProgress(o.ErrOut, func() string { return text.Load().(string) })
	found, err := scan.FindLeftovers(ctx, programs)
	stop()
	if err != nil {
		return clusterError(err)
	}
	if err := printLeftovers(o.Out, o.Output, found); err != nil {
		return err
	}
	return o.concludeLeftovers(found)
}

// checkFlags returns the first mistake in the flags.
func (o *leftoversOptions) checkFlags() error {
	if o.AllNamespaces {
		o.Namespace = metav1.NamespaceAll
	}
	if err := checkNamespace("--own-namespace", o.OwnNamespace); err != nil {
		return err
	}
	if o.Namespace == metav1.NamespaceAll {
		return nil
	}
	return checkNamespace("--namespace", o.Namespace)
}

// loadPolicies returns the policies of -f, those with mistakes as far as they can be
// salvaged; nil without -f.
func (o *leftoversOptions) loadPolicies() ([]*policy.Program, error) {
	if len(o.Files) == 0 {
		return nil, nil
	}
	return loadLegible(o.Files, o.OwnNamespace, "--own-namespace", o.commandEnv, "")
}
