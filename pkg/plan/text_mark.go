package plan

import (
	"fmt"
	"strings"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// writeMark shows what the owner's metadata is to say.
func writeMark(b *strings.Builder, m *OwnerMetadata) {
	if m == nil {
		return
	}
	fmt.Fprintf(b, "mark:\n  finalizer: %t\n  children:", m.Finalizer)
	inv, err := inventory.Parse(m.Children)
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

func writeBlockers(b *strings.Builder, blockers []Problem) {
	if len(blockers) > 0 {
		b.WriteString("blockers:\n")
	}
	for _, p := range blockers {
		fmt.Fprintf(b, "  %s%s\n", p.Reason, suffix(p.Message))
	}
}
