package cel

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
	"github.com/ambit-dev/ambit/test/raced"
)

// FuzzTemplate: taking a template apart never panics and loses nothing; text
// without expressions renders to itself; escaped text renders to the text.
func FuzzTemplate(f *testing.F) {
	for _, seed := range []string{"", "a", "${a}", "$${a}", "${'}'}", "${r'\\'}", "${\"\"\"}\"\"\"}", "${{'a': 1}} x", "${a // }\n}", "$$${", "${br'}", "ä${b'ö'}"} {
		f.Add(seed)
	}
	env := mustEnv(f, "owner")
	f.Fuzz(func(t *testing.T, s string) {
		pieces, issue := splitTemplate(s)
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
func joined(s string, pieces []templatePiece) string {
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
		x, issues := env.CompileExpr(source)
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

// FuzzRender: what a template gives of any object is JSON that is no larger than
// its expressions may be together, has no absent optional left in it, is the same
// each time, and shares nothing with the object. Parts that fail are left out, and
// a rendering that goes on after failures gives the same when there are none.
func FuzzRender(f *testing.F) {
	raced.Skip(f)
	for source := range corpus {
		f.Add("a ${"+source+"}", "${"+source+"}", `{"spec": {"size": 3, "list": [{"name": "a", "port": 1}], "map": {"k": {"v": "x"}}}}`)
	}
	for i, source := range hostile(f) {
		if i%8 != 0 { // TestHostile has them all
			continue
		}
		f.Add("${"+source+"}", "x", `{"spec": {"text": "a", "list": [null, 1, "x", {"a": []}]}}`)
	}
	env := mustEnv(f, "owner")
	f.Fuzz(func(t *testing.T, first, second, object string) {
		template, issues := env.CompileTemplate(map[string]any{"a": first, "b": []any{second, first}})
		if len(issues) > 0 {
			return
		}
		a := Activation{"owner": decode(object)}
		got, failed := template.RenderPartial(t.Context(), a)
		for _, f := range failed {
			if f.Err == nil || len(f.Error()) > 2*maxMessage || strings.Contains(f.Error(), "internal error") {
				t.Fatalf("fails with %.300v", f)
			}
		}
		checkJSON(t, got, 4*meter.MaxResultBytes)
		if stoppedByTime(failed) {
			return
		}
		before := encode(t, a["owner"])
		again, _ := template.RenderPartial(t.Context(), a)
		if first, second := encode(t, got), encode(t, again); first != second {
			t.Fatalf("gives %.300s and then %.300s", first, second)
		}
		if whole, err := template.Render(t.Context(), a); len(failed) == 0 && err == nil && encode(t, whole) != encode(t, got) {
			t.Fatalf("gives %v, and %v in part", whole, got)
		}
		spoil(got)
		if encode(t, a["owner"]) != before {
			t.Fatalf("shares something with its object")
		}
	})
}

// FuzzConvert: any JSON comes through an expression as it is, unless it is larger
// than a result may be.
func FuzzConvert(f *testing.F) {
	for _, seed := range []string{`null`, `1`, `1.5`, `"x"`, `[]`, `{}`, `[null, {"a": [1, 2.5, "x", true]}]`, `1e308`, `-0.0`, `{"": ""}`, `9223372036854775807`} {
		f.Add(seed)
	}
	env := mustEnv(f, "owner")
	direct, built := mustCompile(f, env, `owner`), mustCompile(f, env, `[{'a': [owner]}].map(x, x.a)[0][0]`)
	f.Fuzz(func(t *testing.T, text string) {
		in := decode(text)
		for _, x := range []*Expr{direct, built} {
			got, err := x.Eval(t.Context(), Activation{"owner": in})
			var failed *EvalError
			if errors.As(err, &failed) && failed.Budget && len(text) > meter.MaxResultBytes/4/overhead {
				continue
			}
			if err != nil {
				t.Fatalf("%s of %.300q: %v", x.Source(), text, err)
			}
			checkJSON(t, got, meter.MaxResultBytes)
			if want, got := encode(t, in), encode(t, got); want != got {
				t.Fatalf("%s of %.300s gives %.300s", x.Source(), want, got)
			}
		}
	})
}

// decode reads JSON as Kubernetes does, with whole numbers as int64; what is none
// is text.
func decode(text string) any {
	var value any
	if err := utiljson.Unmarshal([]byte(text), &value); err != nil {
		return strings.ToValidUTF8(text, "?")
	}
	return value
}

func encode(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatalf("%v is no JSON: %v", value, err)
	}
	return string(text)
}

// overhead is what sandbox.ConvertValue takes a value to cost beside its text.
const overhead = 8

// checkJSON checks that a value is what JSON holds, and no larger than limit by
// the count of sandbox.ConvertValue.
func checkJSON(t *testing.T, value any, limit int) {
	t.Helper()
	size := 0
	var check func(value any)
	check = func(value any) {
		size += overhead
		switch v := value.(type) {
		case nil, bool, int64:
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Fatalf("%v is left in a result", v)
			}
		case string:
			size += len(v)
		case []any:
			for _, below := range v {
				check(below)
			}
		case map[string]any:
			for key, below := range v {
				size += len(key)
				check(below)
			}
		default:
			t.Fatalf("a %T is left in a result", v)
		}
	}
	check(value)
	if size > limit {
		t.Fatalf("a result takes %d, more than %d", size, limit)
	}
}

// stoppedByTime reports whether how fast the machine is has made a difference.
func stoppedByTime(failed []LeafError) bool {
	for _, f := range failed {
		if strings.Contains(f.Error(), "stopped at the time limit") {
			return true
		}
	}
	return false
}

// spoil changes all that it can reach.
func spoil(value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, below := range v {
			spoil(below)
		}
		clear(v)
	case []any:
		for i, below := range v {
			spoil(below)
			v[i] = "spoilt"
		}
	}
}
