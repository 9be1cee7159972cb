package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// accessOptions are the flags of `ambit access`.
type accessOptions struct {
	rightsOptions
	// Output is "", json or yaml.
	Output string
	// Program is what ambit was called by: `ambit` or `kubectl ambit`.
	Program string
}

func newAccessCommand(env commandEnv) *cobra.Command {
	o := &accessOptions{rightsOptions: newRights(env)}
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
		Example: indentExample(`
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
	subject, err := o.checkFlags()
	if err != nil {
		return err
	}
	programs, err := o.loadPolicies(subject)
	if err != nil {
		return err
	}
	options, err := o.permissionsOptions(programs, subject, nil)
	if err != nil {
		return err
	}
	compared, err := o.comparePermissions(ctx, options)
	if err != nil {
		return err
	}
	caller := compared.CallerName(ctx)
	entries := compared.ListEntries(cmp.Or(caller, rbac.Subject{}.String()))
	if err := o.printEntries(entries); err != nil {
		return err
	}
	return o.concludeAccess(entries, caller)
}

// concludeAccess says on stderr what the entries come to and what would grant the rest,
// and returns findings if something is missing.
func (o *accessOptions) concludeAccess(entries []permissions.Entry, caller string) error {
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
	fmt.Fprintf(o.ErrOut, "something is missing %s; with the same -f, --namespaces and cluster, this prints what to grant:\n  %s\n", describePlaces(lacking, places), o.grantCommand(caller))
	return errFindings()
}

// describePlaces says in which of the places something is lacking: `cluster-wide and in 1
// of 2 namespaces`. Places are namespaces, and rbac.Everywhere, which is taken out.
func describePlaces(lacking, places map[string]bool) string {
	var parts []string
	if lacking[rbac.Everywhere] {
		parts = append(parts, "cluster-wide")
	}
	delete(lacking, rbac.Everywhere)
	delete(places, rbac.Everywhere)
	if len(lacking) > 0 {
		parts = append(parts, fmt.Sprintf("in %d of %s", len(lacking), pluralize(len(places), "namespace")))
	}
	return strings.Join(parts, " and ")
}

// grantCommand is the command, ready for a shell, that prints what the account lacks, but
// for the policies, namespaces and cluster: `ambit rbac` has another account by default.
// caller is the user name that the API server knows the caller by, "" if it does not tell.
func (o *accessOptions) grantCommand(caller string) string {
	subject := o.readGrantee(caller)
	words := []string{o.Program + " rbac --missing", subjectFlag(subject)}
	own := o.OwnNamespace
	if asked, _ := o.runningSubject(); own == "" && o.ownNamespace(asked) != o.ownNamespace(subject) {
		own = o.ownNamespace(asked) // who was asked about as the caller is named now
	}
	if own != "" {
		words = append(words, "--own-namespace "+own)
	}
	if o.Finalizers {
		words = append(words, "--finalizers")
	}
	return strings.Join(words, " ")
}

// readGrantee is who `ambit access` was about; the zero Subject if nobody knows.
func (o *accessOptions) readGrantee(caller string) rbac.Subject {
	subject, err := o.runningSubject()
	if err == nil && subject == (rbac.Subject{}) {
		subject, err = userSubject(caller)
	}
	if err != nil {
		return rbac.Subject{}
	}
	return subject
}

// subjectFlag says to `ambit rbac` who it is about. A caller whom nobody knows has a
// name in it that is refused.
func subjectFlag(subject rbac.Subject) string {
	switch {
	case subject.Name == "":
		return "--service-account NAMESPACE/NAME"
	case subject.Namespace != "":
		return "--service-account " + subject.Namespace + "/" + subject.Name
	}
	return "--user " + quoteWord(subject.Name)
}

// quoteWord is a word as a POSIX shell takes it.
func quoteWord(word string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,"
	if word != "" && strings.Trim(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
