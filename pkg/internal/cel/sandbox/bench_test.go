package sandbox

import "testing"

// BenchmarkRun evaluates expressions that each spend most of their time in one kind of
// charged node. Cheap has none: it is what the others are to be compared with.
func BenchmarkRun(b *testing.B) {
	owner := medium()
	for _, c := range []struct{ name, source string }{
		{"Cheap", `owner.n == 7`},
		{"Call", `owner.key + '-suffix'`},
		{"Loop", `owner.list.exists(e, e.n == 99)`},
		{"Map", `owner.map.transformList(k, v, k).size()`},
		{"Equal", `owner.list == owner.list`},
		{"In", `'word-0' in owner.words`},
		{"Regex", `owner.words.all(w, w.matches('^[a-z]+-[0-9]+$'))`},
		{"Rules", `owner.words.map(w, w.replace('-', '.').split('.').join('/')).size()`},
		{"Scan", `owner.list.map(e, e.name).sort().size()`},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := mustPlan(b, c.source)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := p.EvaluateWith(b.Context(), variables{"owner": owner}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkConvert copies a value of a size that policies see.
func BenchmarkConvert(b *testing.B) {
	value, err := mustPlan(b, `owner`).EvaluateWith(b.Context(), variables{"owner": medium()})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ConvertValue(b.Context(), value); err != nil {
			b.Fatal(err)
		}
	}
}
