package policy_test

import (
	"fmt"
	"strings"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// dump is the text form of a program for tests: what it watches, in which order
// it works, and what it reads.
func dump(p *policy.Program) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
	}
	line("policy %s/%s suspend=%t", p.Namespace, p.Name, p.Suspend)
	if len(p.Namespaces)+len(p.Exclude) > 0 {
		line("scope %v but %v", p.Namespaces, p.Exclude)
	}
	line("owner %s labels=%q fields=%q filter=%t", p.Owner.GVK, p.Owner.LabelSelector, p.Owner.FieldSelector, p.Owner.Filter != nil)
	line("  reads %s", p.Owner.Fields)
	for _, v := range p.Variables {
		line("variable %s reads %v", v.Name, v.Expr.Vars())
	}
	for _, c := range p.Children {
		line("child %s %s when=%t readyWhen=%d children=%v watches=%v", c.ID, c.GVK, c.When != nil, len(c.ReadyWhen), c.Children, c.Watches)
		line("  reads %s", c.Fields)
	}
	for _, w := range p.Watches {
		line("watch %s %s labels=%q relaxed=%q fields=%q filter=%t", w.ID, w.GVK, w.Selector, w.Selector.Relaxed(), w.FieldSelector, w.Filter != nil)
		line("  reads %s", w.Fields)
	}
	if p.Status != nil {
		line("status sets %s from %v", p.Status.Paths(), p.Status.Vars())
	}
	for _, c := range p.Conditions {
		line("condition %s reason=%t message=%t", c.Type, c.Reason != nil, c.Message != nil)
	}
	if p.RequeueAfter != nil {
		line("requeueAfter %s", p.RequeueAfter.Source())
	}
	return b.String()
}
