package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
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
		if _, ok := made["web"]; !ok {
			t.Errorf("%q: the other child is not made:\n%s", annotation, p)
		}
		again, ok := made["again"]
		if ok != (want != "") || ok && again.Object.GetAnnotations()[v1alpha1.AnnotationGeneration] != want {
			t.Errorf("%q: want generation %q:\n%s", annotation, want, p)
		}
		if text := fmt.Sprint(p.Blockers); !ok && (!strings.Contains(text, "LimitExceeded") || !strings.Contains(text, "owners that made each other")) {
			t.Errorf("%q: got %s", annotation, text)
		}
		if made["web"].Object.GetAnnotations()[v1alpha1.AnnotationGeneration] != "" {
			t.Error("a child that is no owner has a generation")
		}
	}
}

// TestGenerationIsSettled: the annotation is seen again, and is no difference.
func TestGenerationIsSettled(t *testing.T) {
	o := &operator{world: &world{}, writes: -1}
	o.program = compile(t, "children:\n- id: again\n  when: has(owner.spec.more)\n  template: {apiVersion: example.com/v1, kind: Cache, metadata: {name: next}}\n")
	o.setOwner(t, "spec: {more: true}")
	if !o.converge(t) || len(o.plan(t).Actions) > 0 {
		t.Errorf("it does not come to rest:\n%s", o.plan(t))
	}
}
