package cli

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/permissions"
	"github.com/ambit-dev/ambit/pkg/permissions/rbac"
)

// printEntries writes the entries in the format that was asked for.
func (o *accessOptions) printEntries(entries []permissions.Entry) error {
	if o.Output != "" {
		return printData(o.Out, o.Output, map[string]any{"access": entries})
	}
	for i, t := range accessTables(entries) {
		if i > 0 {
			fmt.Fprintln(o.Out)
		}
		if err := t.printTable(o.Out); err != nil {
			return err
		}
	}
	return nil
}

// accessTable is about one policy and one user.
type accessTable struct {
	policy, user string
	entries      []permissions.Entry
}

// accessTables splits the entries by policy and user, in the order in which these
// come first.
func accessTables(entries []permissions.Entry) []*accessTable {
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

// printTable writes the table with its heading, aligned as kubectl does.
func (t *accessTable) printTable(w io.Writer) error {
	rows, columns := []string{}, []string{}
	cells := map[[2]string]string{}
	for _, e := range t.entries {
		row, column := shownNamespace(e.Namespace), t.columnHeading(e)
		if !slices.Contains(rows, row) {
			rows = append(rows, row)
		}
		if !slices.Contains(columns, column) {
			columns = append(columns, column)
		}
		cells[[2]string{row, column}] = cellText(e)
	}
	fmt.Fprintf(w, "Policy %s as %s\n", t.policy, t.user)
	aligned := newTableWriter(w)
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

// columnHeading is the heading for a resource: with its group only where another group
// of the table has a resource of this name.
func (t *accessTable) columnHeading(e permissions.Entry) string {
	heading := e.Resource
	shared := func(other permissions.Entry) bool { return other.Resource == e.Resource && other.Group != e.Group }
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

func cellText(e permissions.Entry) string {
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
