package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// defaultAccount is the ServiceAccount that Ambit runs as where nothing else is
// said.
const defaultAccount = "ambit-system/ambit"

// rightsOptions are the flags that `ambit rbac` and `ambit access` share.
type rightsOptions struct {
	genericiooptions.IOStreams
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
	Cluster *genericclioptions.ConfigFlags

	flags   *pflag.FlagSet // all flags of the command
	cluster *pflag.FlagSet // the flags of Cluster
}

// newRights returns the options before the flags are read. The kubeconfig's users
// cannot be chosen by --user: that is a subject here, as in `kubectl create
// rolebinding`.
func newRights(streams genericiooptions.IOStreams) rightsOptions {
	o := rightsOptions{IOStreams: streams, Cluster: clusterFlags()}
	o.Cluster.AuthInfoName = nil
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
	o.Cluster.AddFlags(o.cluster)
	flags.AddFlagSet(o.cluster)
}

// namesCluster says whether any flag about a cluster was given.
func (o *rightsOptions) namesCluster() bool {
	named := false
	o.cluster.VisitAll(func(f *pflag.Flag) { named = named || f.Changed })
	return named
}

// check returns the first mistake in the flags, and who Ambit runs as: the zero Subject
// if no flag says.
func (o *rightsOptions) check() (subject rbac.Subject, err error) {
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
	return o.subject()
}

// load compiles the policies, as they run in the cluster for an Ambit that runs as
// subject.
func (o *rightsOptions) load(subject rbac.Subject) ([]*policy.Program, error) {
	programs, err := loadValid(o.Files, o.In, o.ErrOut)
	if err != nil {
		return nil, err
	}
	return o.applied(programs, o.own(subject)), nil
}

// subject is who Ambit runs as; the zero Subject if no flag says.
func (o *rightsOptions) subject() (rbac.Subject, error) {
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

// places fills in a request where its policy, which no namespace limits, is looked
// at.
type places func(ctx context.Context, request *rbac.Request) error

// needed returns what the policies need in their places, in their order, and what is
// to be known of it, which it says on stderr. base holds what is the same for all of
// them.
func (o *rightsOptions) needed(ctx context.Context, programs []*policy.Program, base rbac.Request, in places) (grants []rbac.Grant, remarks []string, err error) {
	for _, program := range programs {
		request, err := o.request(ctx, program, base, in)
		if err != nil {
			return nil, nil, err
		}
		more, said := rbac.Needed(ctx, request)
		grants = append(grants, more...)
		for _, remark := range said {
			remarks = append(remarks, fmt.Sprintf("policy %q: %s", program.Name, remark))
		}
	}
	for _, remark := range remarks {
		o.warn("%s", remark)
	}
	if o.WatchRBAC {
		grants = append(grants, rbac.Watching(base.Own))
	}
	return grants, remarks, nil
}

// request is what is asked about one policy.
func (o *rightsOptions) request(ctx context.Context, program *policy.Program, base rbac.Request, in places) (rbac.Request, error) {
	namespaces, limited := rbac.Namespaces(program, o.Namespaces)
	request, everywhere := base, []string{rbac.Everywhere}
	request.Program, request.Finalizers = program, o.Finalizers
	request.Namespaces, request.Searched, request.Elsewhere = namespaces, namespaces, o.Namespaces
	if len(o.Namespaces) == 0 {
		request.Elsewhere = everywhere
	}
	switch idle := limited && len(namespaces) == 0 && base.Kind(program.Owner.GVK).Namespaced; {
	case idle:
		o.warn("policy %q has nothing to do: its scope and --namespaces have no namespace in common", program.Name)
		request.Elsewhere = nil
	case !limited:
		request.Searched = everywhere
		return request, in(ctx, &request)
	}
	return request, nil
}

// warn says on stderr what does not stop the command.
func (o *rightsOptions) warn(format string, args ...any) {
	fmt.Fprintf(o.ErrOut, "warning: "+format+"\n", args...)
}
