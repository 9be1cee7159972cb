package cel

import "testing"

func BenchmarkFilterEval(b *testing.B) {
	object := map[string]any{
		"metadata": map[string]any{"labels": map[string]any{"app": "x"}},
		"status":   map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready", "status": "True"}}},
	}
	for _, c := range []struct{ name, source string }{
		{"Equality", `object.status.phase == 'Running'`},
		{"Exists", `object.status.phase == 'Running' && object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True')`},
	} {
		b.Run(c.name, func(b *testing.B) {
			x := mustCompile(b, mustEnv(b, "object"), c.source)
			a := Activation{"object": object}
			b.ReportAllocs()
			for b.Loop() {
				if ok, err := x.EvalBool(b.Context(), a); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

func BenchmarkTemplateRender(b *testing.B) {
	template := mustTemplate(b, deployment())
	a := Activation{"owner": sample()}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := template.Render(b.Context(), a); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	env := mustEnv(b, "object")
	b.ReportAllocs()
	for b.Loop() {
		if _, issues := env.CompileExpr(`object.status.phase == 'Running'`); issues != nil {
			b.Fatal(issues)
		}
	}
}
