package cel

import (
	"strings"
	"testing"
)

// FuzzTemplate: taking a template apart never panics and loses nothing; text
// without expressions renders to itself; escaped text renders to the text.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"", "a", "${a}", "$${a}", "${'}'}", "${r'\\'}", "${\"\"\"}\"\"\"}", "${{'a': 1}} x", "${a // }\n}", "$$${", "${br'}", "ä${b'ö'}"} {
		f.Add(seed)
	}
	env := mustEnv(f, "owner")
	f.Fuzz(func(t *testing.T, s string) {
		pieces, issue := split(s)
		if issue != nil {
			if issue.Offset < 0 || issue.Offset >= len(s) || issue.Message == "" {
				t.Fatalf("%q: issue %+v is not in it", s, issue)
			}
		} else if got := joined(s, pieces); got != s {
			t.Fatalf("%q: taken apart it is %q", s, got)
		}
		if !strings.Contains(s, "${") {
			rendersTo(t, env, s, s)
		}
		rendersTo(t, env, strings.ReplaceAll(s, "${", "$${"), s)
		if _, issues := env.CompileTemplate(s); issues != nil {
			for _, issue := range issues {
				if issue.Offset < 0 || issue.Offset > len(s) {
					t.Fatalf("%q: issue %+v is not in it", s, issue)
				}
			}
		}
	})
}

// joined undoes split.
func joined(s string, pieces []piece) string {
	var b strings.Builder
	for _, p := range pieces {
		if !p.expression {
			b.WriteString(strings.ReplaceAll(p.text, "${", "$${"))
			continue
		}
		b.WriteString("${" + s[p.offset:p.offset+len(p.text)] + "}")
	}
	return b.String()
}

func rendersTo(t *testing.T, env *Env, in, want string) {
	template, issues := env.CompileTemplate(in)
	if len(issues) > 0 {
		t.Fatalf("%q: %v", in, issues)
	}
	if got, err := template.Render(t.Context(), nil); err != nil || got != want {
		t.Fatalf("%q renders to %q, %v, want %q", in, got, err, want)
	}
}

// FuzzCompile: compiling never panics, and issues are in the source.
func FuzzCompile(f *testing.F) {
	for source := range corpus {
		f.Add(source)
	}
	env := mustEnv(f, "owner")
	f.Fuzz(func(t *testing.T, source string) {
		x, issues := env.Compile(source)
		if (x == nil) != (len(issues) > 0) {
			t.Fatalf("%q: %v with issues %v", source, x, issues)
		}
		for _, issue := range issues {
			if issue.Offset < 0 || issue.Offset > len(source) || issue.Message == "" {
				t.Fatalf("%q: issue %+v is not in it", source, issue)
			}
		}
	})
}
