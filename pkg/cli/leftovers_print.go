package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/uninstall"
)

// printLeftovers writes the findings in a format: table, json or yaml.
func printLeftovers(w io.Writer, format string, l uninstall.Leftovers) error {
	if format != "table" { // nothing is an empty list, not null
		l.Findings, l.Unseen = append([]uninstall.Finding{}, l.Findings...), append([]uninstall.Unseen{}, l.Unseen...)
		return printData(w, format, l)
	}
	if len(l.Findings) == 0 {
		return nil
	}
	aligned := newTableWriter(w)
	fmt.Fprintln(aligned, "NAMESPACE\tKIND\tNAME\tPOLICY\tFINDING\tWHY")
	for _, f := range l.Findings {
		fmt.Fprintf(aligned, "%s\t%s\t%s\t%s\t%s\t%s\n", cmp.Or(f.Namespace, "<none>"), f.Kind, f.Name, cmp.Or(f.Policy, "<unknown>"), f.Type, f.Why)
	}
	return aligned.Flush()
}

// concludeLeftovers says on stderr what it comes to and what could not be looked at, and
// returns the error that has the exit code.
func (o *leftoversOptions) concludeLeftovers(l uninstall.Leftovers) error {
	var denied []string
	for _, u := range l.Unseen {
		name := schema.GroupResource{Group: u.Group, Resource: cmp.Or(u.Resource, "*")}.String()
		if u.Denied {
			denied = append(denied, name)
			continue
		}
		fmt.Fprintf(o.ErrOut, "warning: cannot look at %s: %s\n", name, u.Why)
	}
	if len(denied) > 0 {
		fmt.Fprintf(o.ErrOut, "warning: not looked at, because you may not list it %s: %s\n", o.describePlace(), joinNames(denied))
	}
	switch {
	case len(l.Findings) > 0:
		fmt.Fprintf(o.ErrOut, "%s; `%s cleanup -f POLICY` removes what a policy has made%s\n", pluralize(len(l.Findings), "finding"), o.Program, alsoPolicies(l.Findings))
		return errFindings()
	case len(l.Unseen) > 0:
		return clusterError(errors.New("nothing was found, but not all could be looked at"))
	}
	fmt.Fprintf(o.ErrOut, "nothing would be left %s\n", o.describePlace())
	return nil
}

// alsoPolicies says what else a cleanup does where ReconcilePolicies were found, and what
// to do before; empty if none were.
func alsoPolicies(findings []uninstall.Finding) string {
	found, served := false, false
	for _, f := range findings {
		if isPolicy := f.Kind == v1alpha1.Kind && schema.FromAPIVersionAndKind(f.APIVersion, f.Kind).Group == v1alpha1.Group; isPolicy {
			found, served = true, served || !f.Deleting
		}
	}
	switch {
	case served:
		return ", and the finalizer of a ReconcilePolicy that is being deleted; delete the ReconcilePolicies first, " +
			"with `kubectl delete --wait=false` if no Ambit runs"
	case found:
		return ", and the finalizer of its ReconcilePolicy"
	}
	return ""
}

// describePlace is where it looks, in a sentence.
func (o *leftoversOptions) describePlace() string {
	if o.Namespace == "" {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %q", o.Namespace)
}
