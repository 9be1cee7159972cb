package policy_test

import (
	"fmt"
	"strings"
	"testing"
)

// TestOffspring: where a selector shows that children are owners it is a mistake, and where
// it does not show that they are none, the child is marked.
func TestOffspring(t *testing.T) {
	for name, c := range map[string]struct {
		reason, scope, owner, child, metadata string
		mayOwn, wrong                         bool
	}{
		"All":       {reason: "no selector selects all", wrong: true},
		"Same":      {reason: "the child has the label", owner: "selector: {matchLabels: {a: x}}", metadata: "labels: {a: x}", wrong: true},
		"Own":       {reason: "Ambit's own labels are known", owner: "selector: {matchLabels: {ambit.dev/policy: bomb}}", wrong: true},
		"Absent":    {reason: "the child has not the label", owner: "selector: {matchLabels: {a: x}}"},
		"Other":     {reason: "it has another value", owner: "selector: {matchLabels: {a: x}}", metadata: "labels: {a: y}"},
		"NotOurs":   {reason: "what Ambit has made is left out", owner: "selector: {matchExpressions: [{key: ambit.dev/policy, operator: DoesNotExist}]}"},
		"Pushed":    {reason: "terms of the filter count as the selector does", owner: "filter: \"'a' in object.metadata.labels && object.metadata.labels['a'] == 'x'\""},
		"Computed":  {reason: "a label that is computed may be any", owner: "selector: {matchLabels: {a: x}}", metadata: "labels: {a: '${owner.metadata.name}'}", mayOwn: true},
		"AllLabels": {reason: "so may labels that are", owner: "selector: {matchLabels: {a: x}}", metadata: "labels: '${owner.metadata.labels}'", mayOwn: true},
		"Filter":    {reason: "a filter may leave them out", owner: "filter: has(object.data)", mayOwn: true},
		"When":      {reason: "so may when", child: "when: has(owner.data)", mayOwn: true},
		"ForEach":   {reason: "and an empty list", child: "forEach: {as: e, in: \"['a']\"}", mayOwn: true},
		"Merge":     {reason: "what is merged into is not made", child: "existing: Merge"},
		"Excluded":  {reason: "it is where the policy does not look", scope: "scope: {exclude: [there]}", metadata: "namespace: there"},
		"Unlisted":  {reason: "so is a namespace that is not listed", scope: "scope: {namespaces: [here]}", metadata: "namespace: there"},
		"Listed":    {reason: "this one is", scope: "scope: {namespaces: [here]}", metadata: "namespace: here", wrong: true},
	} {
		t.Run(name, func(t *testing.T) {
			comma := func(text string) string {
				if text == "" {
					return ""
				}
				return ", " + text
			}
			text := fmt.Sprintf("apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: bomb}\nspec:\n  %s\n  owner: {apiVersion: v1, kind: ConfigMap%s}\n"+
				"  children:\n  - {id: again%s, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: '${owner.metadata.name}-x'%s}}}\n",
				c.scope, comma(c.owner), comma(c.child), comma(c.metadata))
			program, err := compileText(text)
			switch {
			case c.wrong && (err == nil || !strings.Contains(err.Error(), `policy.yaml:8:5: child "again" is of the kind of its owner`)):
				t.Errorf("%s: got %v", c.reason, err)
			case !c.wrong && err != nil:
				t.Errorf("%s: %v", c.reason, err)
			case !c.wrong && program.Children[0].MayOwn != c.mayOwn:
				t.Errorf("%s: may own is %t", c.reason, program.Children[0].MayOwn)
			}
		})
	}
}
