package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/printers"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// leftovers is what `ambit leftovers -o json` prints. The shape is stable.
type leftovers struct {
	Leftovers []needing `json:"leftovers"`
	Unseen    []unseen  `json:"unseen"`
}

// print writes the findings in a format: table, json or yaml.
func (l leftovers) print(w io.Writer, format string) error {
	if format != "table" {
		return printData(w, format, leftovers{append([]needing{}, l.Leftovers...), append([]unseen{}, l.Unseen...)})
	}
	if len(l.Leftovers) == 0 {
		return nil
	}
	aligned := printers.GetNewTabWriter(w)
	fmt.Fprintln(aligned, "NAMESPACE\tKIND\tNAME\tPOLICY\tFINDING\tWHY")
	for _, n := range l.Leftovers {
		fmt.Fprintf(aligned, "%s\t%s\t%s\t%s\t%s\t%s\n", cmp.Or(n.Namespace, "<none>"), n.Kind, n.Name, cmp.Or(n.Policy, "<unknown>"), n.Finding, n.Why)
	}
	return aligned.Flush()
}

// conclude says on stderr what it comes to and what could not be looked at, and
// returns the error that has the exit code.
func (o *leftoversOptions) conclude(l leftovers) error {
	var denied []string
	for _, u := range l.Unseen {
		name := schema.GroupResource{Group: u.Group, Resource: cmp.Or(u.Resource, "*")}.String()
		if u.denied {
			denied = append(denied, name)
			continue
		}
		fmt.Fprintf(o.ErrOut, "warning: cannot look at %s: %s\n", name, u.Why)
	}
	if len(denied) > 0 {
		fmt.Fprintf(o.ErrOut, "warning: not looked at, because you may not list it %s: %s\n", o.place(), joined(denied))
	}
	switch {
	case len(l.Leftovers) > 0:
		fmt.Fprintf(o.ErrOut, "%s; `%s cleanup -f POLICY` removes what a policy has made%s\n", plural(len(l.Leftovers), "finding"), o.Program, l.alsoResources())
		return errFindings()
	case len(l.Unseen) > 0:
		return clusterError(errors.New("nothing was found, but not all could be looked at"))
	}
	fmt.Fprintf(o.ErrOut, "nothing would be left %s\n", o.place())
	return nil
}

// alsoResources says what goes with a cleanup of ReconcilePolicies that were found, and
// what to do before; empty if none were.
func (l leftovers) alsoResources() string {
	found, served := false, false
	for _, n := range l.Leftovers {
		if isResource := n.Kind == v1alpha1.Kind && schema.FromAPIVersionAndKind(n.APIVersion, n.Kind).Group == v1alpha1.Group; isResource {
			found, served = true, served || !n.deleting
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

// place is where it looks, in a sentence.
func (o *leftoversOptions) place() string {
	if o.Namespace == "" {
		return "in all namespaces"
	}
	return fmt.Sprintf("in namespace %q", o.Namespace)
}
