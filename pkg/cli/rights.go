package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/ambit-dev/ambit/pkg/internal/manifests"
	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
	"github.com/ambit-dev/ambit/pkg/plan/selection"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// defaultAccount is the ServiceAccount that Ambit runs as where nothing else is
// said.
const defaultAccount = "ambit-system/ambit"

// rightsOptions are the flags that `ambit rbac` and `ambit access` share.
type rightsOptions struct {
	commandEnv
	// Files are the values of -f.
	Files []string
	// Namespaces to work in; empty: as the policies say.
	Namespaces []string
	// ServiceAccount is that of Ambit, as NAMESPACE/NAME; User is a user in its
	// place. One of them is empty.
	ServiceAccount, User string
	// OwnNamespace is that of Ambit; empty: the ServiceAccount's, or as `ambit run`
	// finds it.
	OwnNamespace string
	// Finalizers: owners' finalizers count too.
	Finalizers bool
	// WatchRBAC: Ambit's right to see changes of rights counts too.
	WatchRBAC bool
	// Cluster says how to reach the API server.
	Cluster clusterFlags

	flags   *pflag.FlagSet // all flags of the command
	cluster *pflag.FlagSet // the flags of Cluster
}

// newRights returns the options before the flags are read. The kubeconfig's users
// cannot be chosen by --user: that is a subject here, as in `kubectl create
// rolebinding`.
func newRights(env commandEnv) rightsOptions {
	o := rightsOptions{commandEnv: env}
	o.Cluster.noUser = true
	return o
}

// addFlags adds the flags; account is the default of --service-account.
func (o *rightsOptions) addFlags(flags *pflag.FlagSet, account string) {
	addFilesFlag(flags, &o.Files)
	flags.StringSliceVar(&o.Namespaces, "namespaces", nil, "Namespaces to work in, separated by commas; empty: as the policies say")
	flags.StringVar(&o.ServiceAccount, "service-account", account, "ServiceAccount that Ambit runs as: NAMESPACE/NAME")
	flags.StringVar(&o.User, "user", "", "User that Ambit runs as, in place of a ServiceAccount")
	flags.StringVar(&o.OwnNamespace, "own-namespace", "",
		"Namespace that Ambit runs in: policies of others act as ServiceAccounts there (default: that of --service-account; else as for ambit run --namespace)")
	flags.BoolVar(&o.Finalizers, "finalizers", false,
		"Include update on owners' finalizers, for clusters with the admission plugin OwnerReferencesPermissionEnforcement")
	o.flags, o.cluster = flags, pflag.NewFlagSet("cluster", pflag.ContinueOnError)
	o.Cluster.addFlags(o.cluster)
	flags.AddFlagSet(o.cluster)
}

// namesCluster says whether any flag about a cluster was given.
func (o *rightsOptions) namesCluster() bool {
	named := false
	o.cluster.VisitAll(func(f *pflag.Flag) { named = named || f.Changed })
	return named
}

// checkFlags returns the first mistake in the flags, and who Ambit runs as: the zero Subject
// if no flag says.
func (o *rightsOptions) checkFlags() (subject rbac.Subject, err error) {
	if o.flags.Changed("service-account") && o.flags.Changed("user") {
		return rbac.Subject{}, usageErrorf("--service-account and --user cannot both be given: Ambit runs as one of them")
	}
	if o.Namespaces, err = checkNamespaces(o.Namespaces); err != nil {
		return rbac.Subject{}, err
	}
	if o.OwnNamespace != "" {
		if err := checkNamespace("--own-namespace", o.OwnNamespace); err != nil {
			return rbac.Subject{}, err
		}
	}
	return o.runningSubject()
}

// loadPolicies compiles the policies, as they run in the cluster for an Ambit that runs as
// subject.
func (o *rightsOptions) loadPolicies(subject rbac.Subject) ([]*policy.Program, error) {
	found, err := manifests.LoadPolicies(o.Files, nil, o.ownNamespace(subject), o.Functions, o.In)
	if err != nil {
		return nil, err
	}
	programs, err := validPrograms(found, o.ErrOut)
	if err != nil {
		return nil, err
	}
	return o.appliedPrograms(programs, found.Unplaced, o.ownNamespace(subject)), nil
}

// runningSubject is who Ambit runs as; the zero Subject if no flag says.
func (o *rightsOptions) runningSubject() (rbac.Subject, error) {
	if o.User != "" {
		return userSubject(o.User)
	}
	if o.ServiceAccount == "" {
		return rbac.Subject{}, nil
	}
	namespace, name, found := strings.Cut(o.ServiceAccount, "/")
	if !found || !isAccount(namespace, name) {
		return rbac.Subject{}, usageErrorf("--service-account: %q is not NAMESPACE/NAME, as in %s", o.ServiceAccount, defaultAccount)
	}
	return rbac.Subject{Namespace: namespace, Name: name}, nil
}

// isAccount says whether a ServiceAccount can have these names.
func isAccount(namespace, name string) bool {
	return len(validation.IsDNS1123Label(namespace)) == 0 && len(validation.IsDNS1123Subdomain(name)) == 0
}

// userSubject is the subject that a user name stands for: a ServiceAccount's has
// a form of its own.
func userSubject(name string) (rbac.Subject, error) {
	account, hasForm := strings.CutPrefix(name, "system:serviceaccount:")
	if !hasForm {
		return rbac.Subject{Name: name}, nil
	}
	namespace, account, found := strings.Cut(account, ":")
	if !found || !isAccount(namespace, account) {
		return rbac.Subject{}, usageErrorf("--user: %q is not the user name of a ServiceAccount: system:serviceaccount:NAMESPACE:NAME", name)
	}
	return rbac.Subject{Namespace: namespace, Name: account}, nil
}

// permissionsOptions are what is asked about the policies. crds are files and folders with
// CustomResourceDefinitions, which may hold other objects too.
func (o *rightsOptions) permissionsOptions(programs []*policy.Program, subject rbac.Subject, crds []string) (permissions.Options, error) {
	defined, err := manifests.ReadKinds(crds, o.In)
	if err != nil {
		return permissions.Options{}, err
	}
	return permissions.Options{
		Programs: programs, Kinds: &permissions.Kinds{Defined: defined, Reporter: o}, Own: subject, OwnNamespace: o.ownNamespace(subject),
		Namespaces: o.Namespaces, Finalizers: o.Finalizers, WatchRBAC: o.WatchRBAC,
		Serves: func(ctx context.Context, program *policy.Program, owner *unstructured.Unstructured) bool {
			return selection.RefuseOwner(ctx, program, owner) == nil
		},
		Reporter: o,
	}, nil
}

// comparePermissions asks the cluster of the flags.
func (o *rightsOptions) comparePermissions(ctx context.Context, options permissions.Options) (*permissions.Comparison, error) {
	c, err := connectCluster(&o.Cluster)
	if err != nil {
		return nil, err
	}
	compared, err := permissions.CompareNeeds(ctx, c.permissionsCluster(), options)
	return compared, clusterError(err)
}

// PrintWarning says on stderr what does not stop the command.
func (o *rightsOptions) PrintWarning(format string, args ...any) {
	fmt.Fprintf(o.ErrOut, "warning: "+format+"\n", args...)
}

// ShowProgress says on stderr how far something is.
func (o *rightsOptions) ShowProgress(text func() string) (stop func()) {
	return showProgress(o.ErrOut, text)
}

// ownNamespace is Ambit's own namespace, for an Ambit that runs as a subject: where a
// ServiceAccount is, there it runs.
func (o *rightsOptions) ownNamespace(subject rbac.Subject) string {
	return cmp.Or(o.OwnNamespace, subject.Namespace, defaultOwnNamespace())
}

// appliedPrograms returns the programs as they run in the cluster, and says on stderr what of
// that is taken to be so: a file does not say what becomes of it. A policy that says another
// namespace than Ambit's own is taken as applied to that one, as nothing else can be
// meant by it but by mistake. unplaced are the labels of those whose files say none.
func (o *rightsOptions) appliedPrograms(programs []*policy.Program, unplaced map[string]bool, own string) []*policy.Program {
	applied := make([]*policy.Program, 0, len(programs))
	for _, program := range programs {
		as := program.InCluster(own)
		applied = append(applied, as)
		switch {
		case unplaced[program.Label]:
			o.printNote("policy %q has no metadata.namespace: it is taken to act as Ambit, in a file of `ambit run -f` or in namespace %q; write the namespace into it if it is applied to another one",
				program.Name, own)
		case as.Identity() != program.Identity() || as.Hash != program.Hash:
			o.printNote("policy %q is taken as applied to namespace %q: it acts as %s, for owners in %s; a file of `ambit run -f` is not limited so: for that say --own-namespace %s",
				program.Name, program.Namespace, as.Identity(), ownersOf(program), program.Namespace)
		}
	}
	return applied
}

// ownersOf says where a policy of another namespace than Ambit's own has its owners.
func ownersOf(program *policy.Program) string {
	if program.HasScope() {
		return "its scope"
	}
	return "that namespace"
}

// printNote says on stderr what is taken to be so.
func (o *rightsOptions) printNote(format string, args ...any) {
	fmt.Fprintf(o.ErrOut, "note: "+format+"\n", args...)
}
