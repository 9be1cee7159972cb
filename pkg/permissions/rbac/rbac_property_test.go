package rbac

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/policy"
	_ "github.com/ambit-dev/ambit/test/draws"
)

// drawnChild is a child of a random policy, or something that it ensures.
type drawnChild struct {
	apiVersion, kind, name, namespace, mode string
}

// drawPolicy draws the spec of a policy, and its parts by id.
func drawPolicy(t *rapid.T) (spec string, parts map[string]drawnChild) {
	var b strings.Builder
	parts = map[string]drawnChild{}
	owner := rapid.SampledFrom([]string{"{apiVersion: example.com/v1, kind: App}", "{apiVersion: v1, kind: Namespace}"}).Draw(t, "owner")
	fmt.Fprintf(&b, "owner: %s\ndeletion: %s\n", owner, rapid.SampledFrom([]string{"Background", "Ordered"}).Draw(t, "deletion"))
	for _, section := range []string{"children", "ensure"} {
		for i := range rapid.IntRange(0, 3).Draw(t, section) {
			if i == 0 {
				fmt.Fprintf(&b, "%s:\n", section)
			}
			id, drawn := fmt.Sprintf("%s%d", section, i), drawChild(t, section == "ensure")
			parts[id] = drawn
			fmt.Fprintf(&b, "- id: %s\n  %s\n  template: {apiVersion: %s, kind: %s, metadata: {name: %q%s}}\n",
				id, drawn.mode, drawn.apiVersion, drawn.kind, drawn.name, drawn.namespace)
		}
	}
	return b.String(), parts
}

func drawChild(t *rapid.T, ensured bool) drawnChild {
	names, namespaces := []string{"a", "b"}, []string{"", ", namespace: there"}
	modes := []string{"onDelete: Delete", "onDelete: Orphan"}
	if !ensured {
		names, namespaces = append(names, "${owner.metadata.name}"), append(namespaces, `, namespace: "${owner.metadata.name}"`)
		modes = append(modes, "apply: Create", "apply: Recreate", "existing: Adopt", "existing: Merge")
	}
	kind := rapid.SampledFrom([][2]string{{"v1", "ConfigMap"}, {"v1", "Secret"}, {"scheduling.k8s.io/v1", "PriorityClass"}}).Draw(t, "kind")
	return drawnChild{
		apiVersion: kind[0], kind: kind[1], name: rapid.SampledFrom(names).Draw(t, "name"),
		namespace: rapid.SampledFrom(namespaces).Draw(t, "namespace"), mode: rapid.SampledFrom(modes).Draw(t, "mode"),
	}
}

// places are those in which the part is, as a dumb reader of the text would say.
func (d drawnChild) places(id string) []string {
	switch {
	case d.kind == "PriorityClass":
		return []string{Everywhere}
	case strings.Contains(d.namespace, "there"):
		return []string{"there"}
	case d.namespace != "":
		return []string{"else"}
	case strings.HasPrefix(id, "ensure"):
		return []string{"team-x"}
	}
	return []string{"a", "b"}
}

// TestEnoughAndNoMore: for random policies each part has the verbs that it needs where
// it is, for the object of its name; each verb in each place is one that a part there
// needs; and nothing is granted twice.
func TestEnoughAndNoMore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		spec, parts := drawPolicy(rt)
		program := compile(t, spec)
		grants, _ := NeededGrants(t.Context(), Request{
			Program: program, Kind: GuessKind, Namespaces: []string{"a", "b"}, Elsewhere: []string{"else"}, Searched: []string{"a", "b"},
			ByName: rapid.Bool().Draw(rt, "by name"),
		})
		wanted := map[Check]bool{}
		for _, part := range slices.Concat(program.Children, program.Ensured) {
			drawn := parts[part.ID]
			for _, verb := range verbsOf(program, part) {
				for _, place := range drawn.places(part.ID) {
					resource := GuessKind(part.GVK).Resource
					check := Check{Namespace: place, Verb: verb, Group: resource.Group, Resource: resource.Resource}
					if !isAllowed(grants, check, drawn.name) {
						rt.Errorf("part %s cannot %s in %q\n%s", part.ID, verb, place, spec)
					}
					wanted[check] = true
				}
			}
		}
		checkNoMore(rt, program, grants, wanted)
	})
}

// verbsOf is what one part needs.
func verbsOf(program *policy.Program, part *policy.Child) []string {
	for _, r := range program.Requirements(nil) {
		if r.Child == part {
			return r.Verbs
		}
	}
	return nil
}

// isAllowed evaluates the grants as RBAC does, for an object of a name.
func isAllowed(grants []Grant, c Check, name string) bool {
	return slices.ContainsFunc(grants, func(g Grant) bool {
		return (g.Namespace == Everywhere || g.Namespace == c.Namespace) && slices.ContainsFunc(g.Rules, func(r Rule) bool {
			return r.Group == c.Group && r.Resource == c.Resource && r.Subresource == "" &&
				(r.Name == "" || r.Name == name) && slices.Contains(r.Verbs, c.Verb)
		})
	})
}

// checkNoMore holds each right against what is wanted, owners aside, and against the
// wider ones.
func checkNoMore(t *rapid.T, program *policy.Program, grants []Grant, wanted map[Check]bool) {
	count := map[Check]int{}
	for _, g := range grants {
		for _, check := range g.GrantChecks() {
			count[check]++
		}
	}
	for check, times := range count {
		ofAll, everywhere, both := check, check, check
		ofAll.Name, everywhere.Namespace, both.Name, both.Namespace = "", Everywhere, "", Everywhere
		for _, wider := range []Check{ofAll, everywhere, both} {
			if times > 1 || wider != check && count[wider] > 0 {
				t.Errorf("%+v is granted twice", check)
			}
		}
		if owner := GuessKind(program.Owner.GVK).Resource; check.Resource != owner.Resource && !wanted[ofAll] {
			t.Errorf("%+v is not needed", check)
		}
	}
}
