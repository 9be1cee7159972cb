package plan

import (
	"fmt"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/pkg/plan/problems"
)

// String returns the plan as text that is stable: the same plan gives the same
// bytes. Sections without content are left out; an empty plan is `nothing`.
func (p *Plan) String() string {
	var b strings.Builder
	b.WriteString(p.OwnerMetadata.Text())
	writeActions(&b, p.Actions)
	writeChildren(&b, p.Children)
	if p.Status != nil {
		b.WriteString("status:\n")
		problems.WriteYAML(&b, p.Status)
	}
	if len(p.Conditions) > 0 {
		b.WriteString("conditions:\n")
	}
	for _, c := range p.Conditions {
		fmt.Fprintf(&b, "  %s=%s %s%s\n", c.Type, c.Status, c.Reason, problems.MessageSuffix(c.Message))
	}
	if len(p.Conditions) == 0 && len(p.Blockers) > 0 {
		b.WriteString("blockers:\n")
		for _, blocker := range p.Blockers {
			fmt.Fprintf(&b, "  %s%s\n", blocker.Reason, problems.MessageSuffix(blocker.Message))
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
		fmt.Fprintf(b, "  %s: %s\n", a.titleText(), problems.OneLine(a.Reason))
		if a.Object != nil {
			var object strings.Builder
			problems.WriteYAML(&object, a.Make.ShowTextForms(a.Object).Object)
			b.WriteString(problems.IndentLines(object.String()))
		}
		if a.Verb == MakeValues {
			b.WriteString(a.Make.DescribePaths(a.Fields))
		}
	}
}

// titleText is as in `apply Deployment default/web (child web, migrating)`.
func (a Action) titleText() string {
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
		fmt.Fprintf(b, "  %s: %s%s\n", title, state, problems.MessageSuffix(c.Message))
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
