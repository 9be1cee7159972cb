package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/cli-runtime/pkg/printers"

	"github.com/ambit-dev/ambit/pkg/internal/rbac"
)

// accessEntry is about one resource in one place, as `ambit access -o json`
// prints it. The shape is stable.
type accessEntry struct {
	// Policy is the name of the policy.
	Policy string `json:"policy"`
	// User is who needs the verbs.
	User string `json:"user"`
	// Namespace is empty for a right in all namespaces, or on what has none.
	Namespace string `json:"namespace"`
	// Group, Resource and Subresource are those of the resource.
	Group       string `json:"group"`
	Resource    string `json:"resource"`
	Subresource string `json:"subresource"`
	// Name is that of the only object that is needed; empty: all.
	Name string `json:"name"`
	// NeededBy are the parts of the policy: `owner`, or ids.
	NeededBy []string `json:"neededBy"`
	// Verbs are those needed, Missing those of them that are not granted.
	Verbs   []string `json:"verbs"`
	Missing []string `json:"missing"`
}

// entries returns one entry for each rule of the survey's grants, in their order.
// caller is the name of the zero Subject.
func (s *survey) entries(caller string) []accessEntry {
	entries := []accessEntry{}
	for _, g := range s.grants {
		lacking := g.Lacking(s.isAllowed)
		for _, rule := range g.Rules {
			entries = append(entries, accessEntry{
				Policy: g.Policy, User: cmp.Or(g.Subject.User(), caller), Namespace: g.Namespace,
				Group: rule.Group, Resource: rule.Resource, Subresource: rule.Subresource, Name: rule.Name,
				NeededBy: rule.Parts, Verbs: rule.Verbs, Missing: lacking.VerbsOn(rule),
			})
		}
	}
	return entries
}

// print writes the entries in the format that was asked for.
func (o *accessOptions) print(entries []accessEntry) error {
	if o.Output != "" {
		return printData(o.Out, o.Output, map[string]any{"access": entries})
	}
	for i, t := range accessTables(entries) {
		if i > 0 {
			fmt.Fprintln(o.Out)
		}
		if err := t.print(o.Out); err != nil {
			return err
		}
	}
	return nil
}

// accessTable is about one policy and one user.
type accessTable struct {
	policy, user string
	entries      []accessEntry
}

// accessTables splits the entries by policy and user, in the order in which these
// come first.
func accessTables(entries []accessEntry) []*accessTable {
	var tables []*accessTable
	for _, e := range entries {
		i := slices.IndexFunc(tables, func(t *accessTable) bool { return t.policy == e.Policy && t.user == e.User })
		if i < 0 {
			i = len(tables)
			tables = append(tables, &accessTable{policy: e.Policy, user: e.User})
		}
		tables[i].entries = append(tables[i].entries, e)
	}
	return tables
}

// print writes the table with its heading, aligned as kubectl does.
func (t *accessTable) print(w io.Writer) error {
	rows, columns := []string{}, []string{}
	cells := map[[2]string]string{}
	for _, e := range t.entries {
		row, column := shownNamespace(e.Namespace), t.column(e)
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		cells[[2]string{row, column}] = cell(e)
	}
	fmt.Fprintf(w, "Policy %s as %s\n", t.policy, t.user)
	aligned := printers.GetNewTabWriter(w)
	fmt.Fprintf(aligned, "NAMESPACE\t%s\n", strings.Join(columns, "\t"))
	for _, row := range rows {
		line := []string{row}
		for _, column := range columns {
			line = append(line, cmp.Or(cells[[2]string{row, column}], "<none>"))
		}
		fmt.Fprintln(aligned, strings.Join(line, "\t"))
	}
	return aligned.Flush()
}

// column is the heading for a resource: with its group only where another group
// of the table has a resource of this name.
func (t *accessTable) column(e accessEntry) string {
	heading := e.Resource
	shared := func(other accessEntry) bool { return other.Resource == e.Resource && other.Group != e.Group }
	if e.Group != "" && slices.ContainsFunc(t.entries, shared) {
		heading += "." + e.Group
	}
	if e.Subresource != "" {
		heading += "/" + e.Subresource
	}
	heading = strings.ToUpper(heading)
	if e.Name != "" {
		heading += "[" + e.Name + "]"
	}
	return heading
}

func cell(e accessEntry) string {
	if len(e.Missing) == 0 {
		return "ok"
	}
	return "no " + strings.Join(e.Missing, ",")
}

// shownNamespace is a namespace in a row; kubectl's <all> for cluster-wide rights.
func shownNamespace(namespace string) string {
	if namespace == rbac.Everywhere {
		return "<all>"
	}
	return namespace
}
