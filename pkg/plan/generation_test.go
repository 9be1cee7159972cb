package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestGenerations: owners that make owners say how many did so before, and those of the
// last generation make none; other children are made all the same.
func TestGenerations(t *testing.T) {
	program := compile(t, "children:\n- id: again\n  when: has(owner.spec.more)\n  template: {apiVersion: example.com/v1, kind: Cache, metadata: {name: next}, spec: {more: true}}\n"+
		"- id: web\n  template: {apiVersion: example.com/v1, kind: Widget, metadata: {name: web}}\n")
	for annotation, want := range map[string]string{"": "1", "1": "2", "4": "5", "5": "", "900": "", "-3": "1", "x": "1"} {
		o := &operator{world: &world{}, program: program, writes: -1}
		o.setOwner(t, fmt.Sprintf("metadata: {annotations: {ambit.dev/generation: %q}}\nspec: {more: true}", annotation))
		p := o.plan(t)
		made := map[string]Action{}
		for _, a := range p.Actions {
			made[a.Child] = a
		}
		if _, ok := made["web"]; ok != (annotation != "900") {
			t.Errorf("%q: whether the other child is made: %t\n%s", annotation, ok, p)
		}
		again, ok := made["again"]
		if ok != (want != "") || ok && again.Object.GetAnnotations()[v1alpha1.AnnotationGeneration] != want {
			t.Errorf("%q: want generation %q:\n%s", annotation, want, p)
		}
		if text := fmt.Sprint(p.Blockers); !ok && (!strings.Contains(text, "LimitExceeded") || !strings.Contains(text, "owners that made each other")) {
			t.Errorf("%q: got %s", annotation, text)
		}
		if web := made["web"].Object; want == "1" && web.GetAnnotations()[v1alpha1.AnnotationGeneration] != "" {
			t.Error("the child of an owner that nobody made has a generation")
		}
	}
}

// TestGenerationsOverPolicies: two policies of which each makes the owners of the other do not
// go on for ever, and nothing is said of policies that only build on each other.
func TestGenerationsOverPolicies(t *testing.T) {
	policies := map[string]*policy.Program{}
	for kind, made := range map[string]string{"Cache": "Widget", "Widget": "Cache"} {
		policies[kind] = compilePolicy(t, strings.ToLower(kind), kind, "children:\n- id: next\n"+
			"  template: {apiVersion: example.com/v1, kind: "+made+", metadata: {name: '${owner.metadata.name}-x'}}\n")
	}
	o := &operator{world: &world{}, writes: -1}
	o.setOwner(t, "metadata: {name: first}")
	for made := range 20 {
		o.world, o.program = &world{}, policies[o.owner.GetKind()]
		p := o.plan(t)
		if len(p.Actions) > 0 {
			o.owner = p.Actions[0].Object
			o.owner.SetUID("owner-uid")
			continue
		}
		text := fmt.Sprint(p.Blockers)
		if made != MaxChain || !strings.Contains(text, "LimitExceeded") || !strings.Contains(text, "by this policy and by others") {
			t.Errorf("after %d owners: %s", made, text)
		}
		return
	}
	t.Error("it goes on for ever")
}

// TestGenerationIsSettled: the annotation is seen again, and is no difference.
func TestGenerationIsSettled(t *testing.T) {
	o := &operator{world: &world{}, writes: -1}
	o.program = compile(t, "children:\n- id: again\n  when: has(owner.spec.more)\n  template: {apiVersion: example.com/v1, kind: Cache, metadata: {name: next}}\n")
	for _, owner := range []string{"spec: {more: true}", "metadata: {labels: {app.kubernetes.io/managed-by: ambit, ambit.dev/owner-uid: other}}\nspec: {more: true}"} {
		o.setOwner(t, owner)
		if !o.converge(t) || len(o.plan(t).Actions) > 0 {
			t.Errorf("it does not come to rest:\n%s", o.plan(t))
		}
	}
}
