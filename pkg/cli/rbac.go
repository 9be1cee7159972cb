package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// rbacOptions are the flags of `ambit rbac`.
type rbacOptions struct {
	rightsOptions
	// CRDs are files and folders with CustomResourceDefinitions.
	CRDs []string
	// OwnersEverywhere: owners cluster-wide, the rest by namespace.
	OwnersEverywhere bool
	// Missing: only what is not granted yet.
	Missing bool
	// Output is yaml or json.
	Output string
}

func newRBACCommand(env commandEnv) *cobra.Command {
	o := &rbacOptions{rightsOptions: newRights(env), Output: "yaml"}
	cmd := &cobra.Command{
		Use:   "rbac -f POLICY",
		Short: "Print the least rights that policies need, for kubectl apply",
		Long: `Print the ServiceAccount, and Roles with RoleBindings that grant exactly what the
policies need: one of each in every namespace of --namespaces or of the policy's
scope, and nothing cluster-wide; without either a ClusterRole. Rights are for the
account that Ambit runs as. If a policy names a serviceAccountName they are for
that one, and Ambit's own account may impersonate it.

A policy whose metadata.namespace is another one than Ambit's own (that of its account,
or --own-namespace) is taken as applied to the cluster: it acts as a ServiceAccount of
its namespace, the one that it names or default, and without a scope serves owners of
that namespace only. stderr says so. For a file that ` + "`ambit run -f`" + ` runs, and which
so acts as Ambit, say its namespace by --own-namespace.

What has no namespace takes a ClusterRole in any case. For a child or a watch in a
namespace that the policy names there is a Role in that one; where only owners say
the namespace, rights are for those of --namespaces, or else for all. Nobody may hand
out rights that they do not have: a policy that makes Roles needs what these grant.
What of that only owners say, or takes a wildcard, is not printed, but told on stderr
and in comments of the YAML.

Without --missing no socket is opened, unless a flag such as --context names a
cluster to ask for the resources behind kinds. Offline they come from the
CustomResourceDefinitions of --crds and from what is known of Kubernetes' own
kinds; for others the usual plural is taken, with a warning.

--missing asks the cluster, by access reviews, and prints only what is not granted
yet: in the namespaces given, or else in those where there are owners. Without
namespaces it also prints the right to list and watch owners cluster-wide, unless
that is granted, or to list and watch namespaces is, which does as well. A right
that is granted cluster-wide is granted in each namespace. What a Role or binding
of the same name holds already stays in it. A user's rights by membership in a
group are not seen: only the groups of ServiceAccounts are known.`,
		Example: indentExample(`
# A Role and a RoleBinding in each of two namespaces
ambit rbac -f policies/memcached.yaml --crds examples/memcached --namespaces team-a,team-b | kubectl apply -f -

# Owners may be anywhere, children only in these namespaces
ambit rbac -f policies/memcached.yaml --crds examples/memcached --namespaces team-a --owners-everywhere

# Rights, and the right to see at once when they change
ambit rbac -f policies/memcached.yaml --crds examples/memcached --namespaces team-a --watch-rbac

# Grant what is missing wherever there are owners
ambit rbac -f policies/memcached.yaml --missing | kubectl apply -f -`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.Run(cmd.Context()) },
	}
	o.addFlags(cmd.Flags())
	return cmd
}

func (o *rbacOptions) addFlags(flags *pflag.FlagSet) {
	o.rightsOptions.addFlags(flags, defaultAccount)
	flags.StringArrayVar(&o.CRDs, "crds", nil, "File or folder with CustomResourceDefinitions; may be given several times")
	flags.BoolVar(&o.OwnersEverywhere, "owners-everywhere", false,
		"Grant the rights on owners and their status cluster-wide, the others by namespace")
	flags.BoolVar(&o.WatchRBAC, "watch-rbac", false,
		"Also let Ambit watch Roles and bindings cluster-wide: it then follows changes of rights at once, not within seconds")
	flags.BoolVar(&o.Missing, "missing", false, "Print only what is not granted yet, as the cluster says")
	addOutputFlag(flags, &o.Output, "yaml", "json")
}

// Run prints the objects.
func (o *rbacOptions) Run(ctx context.Context) error {
	subject, err := o.checkFlags()
	if err != nil {
		return err
	}
	if subject == (rbac.Subject{}) {
		return usageErrorf("--service-account and --user are empty: one must say who gets the rights")
	}
	programs, err := o.loadPolicies(subject)
	if err != nil {
		return err
	}
	options, err := o.permissionsOptions(programs, subject, o.CRDs)
	if err != nil {
		return err
	}
	options.OwnersEverywhere = o.OwnersEverywhere
	if o.Missing {
		return o.runMissing(ctx, options)
	}
	if o.namesCluster() {
		c, err := connectCluster(&o.Cluster)
		if err != nil {
			return err
		}
		options.Kinds.Mapper = c.mapper
	}
	if err := options.Kinds.FindAll(programs); err != nil {
		return clusterError(err)
	}
	if err := o.checkLimits(options); err != nil {
		return err
	}
	needs, err := permissions.FindNeeds(ctx, options)
	if err != nil {
		return clusterError(err)
	}
	o.printComment(needs.Remarks)
	return o.printObjects(needs.GrantingObjects())
}

// runMissing prints what is not granted yet.
func (o *rbacOptions) runMissing(ctx context.Context, options permissions.Options) error {
	compared, err := o.comparePermissions(ctx, options)
	if err != nil {
		return err
	}
	missing, err := compared.MissingObjects(ctx)
	if err != nil {
		return clusterError(err)
	}
	if len(missing) == 0 {
		fmt.Fprintln(o.ErrOut, "nothing is missing")
	}
	return o.printObjects(missing)
}

// checkLimits refuses --owners-everywhere for a policy that no namespace limits.
func (o *rbacOptions) checkLimits(options permissions.Options) error {
	for _, program := range options.Programs {
		_, limited := rbac.LimitNamespaces(program, options.Namespaces)
		if o.OwnersEverywhere && !limited && options.Kinds.FoundKind(program.Owner.GVK).Namespaced {
			return usageErrorf("policy %q: --owners-everywhere wants --namespaces, or spec.scope.namespaces: the rest is granted there", program.Name)
		}
	}
	return nil
}

func (o *rbacOptions) printObjects(objects []runtime.Object) error {
	all := make([]any, len(objects))
	for i, object := range objects {
		all[i] = object
	}
	return printObjects(o.Out, o.Output, all)
}

// printComment writes sentences at the head of YAML, so that they are kept with it.
func (o *rbacOptions) printComment(sentences []string) {
	if o.Output != "yaml" {
		return
	}
	for _, sentence := range sentences {
		fmt.Fprintf(o.Out, "# %s\n", sentence)
	}
}
