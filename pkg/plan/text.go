package plan

import (
	"fmt"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/plan/inventory"
)

// String returns the plan as text that is stable: the same plan gives the same
// bytes. Sections without content are left out; an empty plan is `nothing`.
func (p *Plan) String() string {
	var b strings.Builder
	writeOwnerMetadata(&b, p.OwnerMetadata)
	writeActions(&b, p.Actions)
	writeChildren(&b, p.Children)
	if p.Status != nil {
		b.WriteString("status:\n")
		writeYAML(&b, p.Status)
	}
	if len(p.Conditions) > 0 {
		b.WriteString("conditions:\n")
	}
	for _, c := range p.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s%s\n", c.Type, c.Status, c.Reason, messageSuffix(c.Message))
	}
	if len(p.Conditions) == 0 && len(p.Blockers) > 0 {
		b.WriteString("blockers:\n")
		for _, blocker := range p.Blockers {
			fmt.Fprintf(&b, "  %s%s\n", blocker.Reason, messageSuffix(blocker.Message))
		}
	}
	for _, gvk := range p.Former {
		fmt.Fprintf(&b, "former kind: %s\n", gvk.Kind)
	}
	if p.Expire {
		b.WriteString("expire: the owner is deleted\n")
	}
	if p.Wake != nil {
		fmt.Fprintf(&b, "wake: %s: %s\n", p.Wake.At.Format(time.RFC3339), p.Wake.Reason)
	}
	if p.RequeueAfter > 0 {
		fmt.Fprintf(&b, "requeue after: %s\n", p.RequeueAfter)
	}
	if b.Len() == 0 {
		return "nothing\n"
	}
	return b.String()
}

func writeActions(b *strings.Builder, actions []Action) {
	if len(actions) > 0 {
		b.WriteString("actions:\n")
	}
	for _, a := range actions {
		fmt.Fprintf(b, "  %s: %s\n", a.title(), oneLine(a.Reason))
		if a.Object != nil {
			var object strings.Builder
			writeYAML(&object, a.Object.Object)
			b.WriteString(indentLines(object.String()))
		}
	}
}

// title is as in `apply Deployment default/web (child web, migrating)`.
func (a Action) title() string {
	var of string
	switch {
	case a.Child != "" && a.Migrate:
		of = fmt.Sprintf(" (child %s, migrating)", a.Child)
	case a.Child != "" && a.Adopt:
		of = fmt.Sprintf(" (child %s, adopting)", a.Child)
	case a.Child != "":
		of = fmt.Sprintf(" (child %s)", a.Child)
	}
	name := a.Name
	if a.Namespace != "" {
		name = a.Namespace + "/" + name
	}
	return fmt.Sprintf("%s %s %s%s", strings.ToLower(string(a.Verb)), a.GVK.Kind, name, of)
}

func writeChildren(b *strings.Builder, children []ChildState) {
	if len(children) > 0 {
		b.WriteString("children:\n")
	}
	spread := isSpread(children)
	for _, c := range children {
		title := c.ID
		switch {
		case spread && c.Namespace != "":
			title += " " + c.Namespace + "/" + c.Name
		case c.Name != "" && c.Name != c.ID:
			title += " " + c.Name
		}
		state := string(c.State)
		if c.Reason != "" && c.Reason != state {
			state += " " + c.Reason
		}
		fmt.Fprintf(b, "  %s: %s%s\n", title, state, messageSuffix(c.Message))
		if len(c.Dropped) > 0 {
			fmt.Fprintf(b, "    left out, because only Ambit sets it: %s\n", strings.Join(c.Dropped, ", "))
		}
	}
}

// isSpread says whether the objects are in more than one namespace.
func isSpread(children []ChildState) bool {
	namespaces := map[string]bool{}
	for _, c := range children {
		if c.Name != "" {
			namespaces[c.Namespace] = true
		}
	}
	return len(namespaces) > 1
}

// messageSuffix is a message behind a colon, on one line; nothing for none.
func messageSuffix(message string) string {
	if message == "" {
		return ""
	}
	return ": " + oneLine(message)
}

func writeYAML(b *strings.Builder, v any) {
	encoded, err := yaml.Marshal(v)
	if err != nil {
		encoded = fmt.Appendf(nil, "cannot be shown: %v\n", err)
	}
	b.WriteString(indentLines(string(encoded)))
}

func indentLines(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + line)
	}
	return b.String()
}

// oneLine joins the words of a text with single spaces.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// writeOwnerMetadata shows what the owner's metadata is to say.
func writeOwnerMetadata(b *strings.Builder, m *OwnerMetadata) {
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
