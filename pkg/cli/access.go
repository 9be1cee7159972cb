package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
)

// accessOptions are the flags of `ambit access`.
type accessOptions struct {
	rightsOptions
	// Output is "", json or yaml.
	Output string
	// Program is what ambit was called by: `ambit` or `kubectl ambit`.
	Program string
}

func newAccess(streams genericiooptions.IOStreams) *cobra.Command {
	o := &accessOptions{rightsOptions: newRights(streams)}
	cmd := &cobra.Command{
		Use:   "access -f POLICY",
		Short: "Compare what policies need with what is granted, by namespace",
		Long: `Print for each policy what is missing, as a table: a row for each namespace, a
column for each resource; a cell is ` + "`ok`" + `, or names the verbs that are not granted.
Rows are the namespaces of --namespaces or of the policy's scope; without either
those in which there are owners, and <all> if owners cannot be found: that takes
list and watch on them, or on namespaces, cluster-wide. In <all> is also what has no
namespace, and what is in one that only owners say, unless --namespaces names some;
a namespace that the policy itself names has a row of its own. It is asked by access
reviews, for the account of --service-account or --user, by default for the caller
(see --as). A policy of another namespace than Ambit's own (that of its account, or
--own-namespace) is taken as applied to the cluster, as by ` + "`ambit rbac`" + `: it is asked for
the ServiceAccount that it acts as there. stderr says so.

With -o json or yaml it is an object with one list, access. An entry is about one
resource in one place: policy, user, namespace (empty: cluster-wide), group,
resource, subresource, name (empty: all), neededBy (parts of the policy), verbs,
and missing, those of the verbs that are not granted. If owners cannot be found
there is one about the owner's resource with an empty namespace.

Exit code 0 when all is granted, 1 when something is missing.`,
		Example: example(`
# What the account of Ambit lacks, wherever there are owners
ambit access -f policies/memcached.yaml --service-account ambit-system/ambit

# What I would lack in a namespace if I ran Ambit myself
ambit access -f policies/memcached.yaml --namespaces team-a

# For a program
ambit access -f policies -o json`),
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.Program = cmd.Root().CommandPath()
			return o.Run(cmd.Context())
		},
	}
	o.addFlags(cmd.Flags(), "")
	addOutputFlag(cmd.Flags(), &o.Output, "json", "yaml")
	return cmd
}

// Run prints the comparison.
func (o *accessOptions) Run(ctx context.Context) error {
	subject, err := o.check()
	if err != nil {
		return err
	}
	programs, err := o.load(subject)
	if err != nil {
		return err
	}
	kinds, err := newKindFinder(nil, o.In, o.warn)
	if err != nil {
		return err
	}
	s, err := o.survey(ctx, programs, kinds, rbac.Request{Own: subject, Kind: kinds.kind})
	if err != nil {
		return err
	}
	caller := s.cluster.caller(ctx)
	entries := s.entries(cmp.Or(caller, shownSubject(rbac.Subject{})))
	if err := o.print(entries); err != nil {
		return err
	}
	return o.conclude(entries, caller)
}

// caller is the user name that the API server knows the caller by, "" if it
// does not tell.
func (c *cluster) caller(ctx context.Context) string {
	review, err := c.typed.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return ""
	}
	return review.Status.UserInfo.Username
}

// conclude says on stderr what the entries come to and what would grant the rest,
// and returns findings if something is missing.
func (o *accessOptions) conclude(entries []accessEntry, caller string) error {
	places, lacking := map[string]bool{}, map[string]bool{}
	for _, e := range entries {
		places[e.Namespace] = true
		if len(e.Missing) > 0 {
			lacking[e.Namespace] = true
		}
	}
	if len(lacking) == 0 {
		fmt.Fprintln(o.ErrOut, "nothing is missing")
		return nil
	}
	fmt.Fprintf(o.ErrOut, "something is missing %s; this prints what to grant:\n  %s\n", where(lacking, places), o.grantCommand(caller))
	return errFindings()
}

// where says in which of the places something is lacking: `cluster-wide and in 1
// of 2 namespaces`. Places are namespaces, and rbac.Everywhere, which is taken out.
func where(lacking, places map[string]bool) string {
	var parts []string
	if lacking[rbac.Everywhere] {
		parts = append(parts, "cluster-wide")
	}
	delete(lacking, rbac.Everywhere)
	delete(places, rbac.Everywhere)
	if len(lacking) > 0 {
		parts = append(parts, fmt.Sprintf("in %d of %s", len(lacking), plural(len(places), "namespace")))
	}
	return strings.Join(parts, " and ")
}
