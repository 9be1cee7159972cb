package plan

import (
	"fmt"
	"strings"
)

// writeMark shows what the owner's metadata is to say.
func writeMark(b *strings.Builder, m *OwnerMetadata) {
	if m == nil {
		return
	}
	fmt.Fprintf(b, "mark:\n  finalizer: %t\n  children:", m.Finalizer)
	inv, err := ParseInventory(m.Children)
	if err != nil {
		fmt.Fprintf(b, " %v", err)
	}
	switch {
	case inv.Policy == "":
		b.WriteString(" none")
	case len(inv.Entries) == 0:
		b.WriteString(" none of policy " + inv.Policy)
	}
	b.WriteString("\n")
	for _, e := range inv.Entries {
		fmt.Fprintf(b, "  - %s\n", e)
	}
}

// String is as in `Role team-a/web (child role): uid 123, rank 2, orphan`.
func (e Entry) String() string {
	title := fmt.Sprintf("%s %s (child %s): ", e.GVK.Kind, strings.Trim(e.Namespace+"/"+e.Name, "/"), e.Child)
	switch {
	case e.isPlace():
		title = fmt.Sprintf("%s objects in %s (child %s)", e.GVK.Kind, e.Namespace, e.Child)
	case e.UID == "":
		title += "about to be made"
	default:
		title += "uid " + string(e.UID)
	}
	if e.ClaimedAs != "" {
		title += ", claimed as " + e.ClaimedAs
	}
	if e.Rank > 0 {
		title += fmt.Sprintf(", rank %d", e.Rank)
	}
	if e.Merged {
		title += ", merged"
	}
	if e.Orphan {
		title += ", orphan"
	}
	return title
}

func writeBlockers(b *strings.Builder, blockers []Problem) {
	if len(blockers) > 0 {
		b.WriteString("blockers:\n")
	}
	for _, p := range blockers {
		fmt.Fprintf(b, "  %s%s\n", p.Reason, suffix(p.Message))
	}
}
