package policy_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// dump is the text form of a program for tests: what it watches, in which order
// it works, and what it reads.
func dump(p *policy.Program) string {
	var b strings.Builder
	line := func(format string, args ...any) {
		b.WriteString(strings.TrimRight(fmt.Sprintf(format, args...), " ") + "\n")
	}
	line("policy %s/%s suspend=%t informers=%s deletion=%s marks=%t", p.Namespace, p.Name, p.Suspend, p.Informers, p.Deletion, p.NeedsFinalizer())
	if len(p.Namespaces)+len(p.Exclude) > 0 || p.NamespaceSelector != nil {
		line("scope %v and %v but %v", p.Namespaces, p.NamespaceSelector, p.Exclude)
	}
	line("owner %s labels=%q fields=%q filter=%t selector=%q silent=%t",
		p.Owner.GVK, p.Owner.LabelSelector, p.Owner.FieldSelector, p.Owner.Filter != nil, p.Owner.Selector, p.Owner.SkipStatus)
	line("  reads %s", p.Owner.Fields)
	if p.Owner.StatusRead != nil || p.Owner.Versionless {
		line("  reads of its own writes: status %s versionless=%t", p.Owner.StatusRead, p.Owner.Versionless)
	}
	if p.Owner.SelectionRead != nil {
		line("  watches depend on %s", p.Owner.SelectionRead)
	}
	for _, v := range p.Variables {
		line("variable %s reads %v", v.Name, v.Expr.FreeVariables())
		if len(v.Watches) > 0 {
			line("  watches %v", v.Watches)
		}
		if v.Timed {
			line("  asks the time")
		}
	}
	for _, c := range p.Children {
		dumpChild(line, c)
	}
	for _, w := range p.Watches {
		line("watch %s %s labels=%q relaxed=%q fields=%q filter=%t", w.ID, w.GVK, w.Selector, w.Selector.RelaxedText(), w.FieldSelector, w.Filter != nil)
		if w.Name != nil || w.Namespace != nil || w.FieldTemplate != nil || w.AllNamespaces {
			line("  name %v namespace %v all=%t fieldSelector %v", vars(w.Name), vars(w.Namespace), w.AllNamespaces, vars(w.FieldTemplate))
		}
		line("  reads %s", w.Fields)
		if w.Versions {
			line("  follows every version")
		}
	}
	if p.Status != nil {
		line("status sets %s from %v", p.Status.FieldsSet(), p.Status.FreeVariables())
	}
	for _, c := range p.Conditions {
		line("condition %s reason=%t message=%t", c.Type, c.Reason != nil, c.Message != nil)
	}
	if p.RequeueAfter != nil {
		line("requeueAfter %s", p.RequeueAfter.Source())
	}
	if p.Protect != nil {
		line("protect reads %v message=%t", p.Protect.While.FreeVariables(), p.Protect.Message != nil)
	}
	if p.Expire != nil {
		line("expire %s", p.Expire.Source())
	}
	if p.AsksTime {
		line("asks the time")
	}
	for _, c := range p.Ensured {
		line("ensure %s %s onDelete=%s", c.ID, c.GVK, c.OnDelete)
		line("  reads %s", c.Fields)
	}
	if p.CleanupOnly != nil {
		line("broken: %v", p.CleanupOnly)
	}
	return b.String()
}

func dumpChild(line func(string, ...any), c *policy.Child) {
	line("child %s %s when=%t readyWhen=%d children=%v watches=%v", c.ID, c.GVK, c.When != nil, len(c.ReadyWhen), c.Children, c.Watches)
	if c.ForEach != nil || len(c.Asked) > 0 {
		as, in := "", []string(nil)
		if c.ForEach != nil {
			as, in = c.ForEach.As, c.ForEach.In.FreeVariables()
		}
		line("  forEach %s in %v keep=%d asked=%v", as, in, c.Keep, c.Asked)
	}
	if c.KeepWhen != nil {
		line("  keepWhen reads %v", c.KeepWhen.FreeVariables())
	}
	line("  %s %s %s %s elsewhere=%t", c.Apply, c.Existing, c.OnDelete, c.Update, c.CrossNamespace)
	for _, m := range c.Make {
		line("  makes %s: %v and %v from %q with %v", m.Recipe, m.Recipe.PrivateKeys(), m.Recipe.PublicKeys(), m.Issuer, slices.Sorted(maps.Keys(m.Texts)))
	}
	line("  reads %s", c.Fields)
	if c.Versionless {
		line("  versionless")
	}
}

// vars are the variables of a template; nil if there is no template.
func vars(t *cel.Template) any {
	if t == nil {
		return nil
	}
	return t.FreeVariables()
}
