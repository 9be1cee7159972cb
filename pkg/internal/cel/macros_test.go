package cel

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReady(t *testing.T) {
	cases := map[string]struct {
		reason string
		source string
		want   any
		asked  []string
		vars   []string
	}{
		"One":    {reason: "what is asked for is not read", source: `ready(db)`, want: true, asked: []string{"db"}},
		"Both":   {reason: "what is read as well is a variable too", source: `ready(db) && db.n == 1`, want: true, asked: []string{"db"}, vars: []string{"db"}},
		"Not":    {reason: "each once, in order", source: `!ready(web) && ready(db) || ready(web)`, want: true, asked: []string{"db", "web"}},
		"Macro":  {reason: "a macro's variable is not meant", source: `[1].map(web, ready(web))`, want: []any{false}, asked: []string{"web"}},
		"Called": {reason: "a child may be called ready", source: `ready(ready) && ready.n == 2`, want: true, asked: []string{"ready"}, vars: []string{"ready"}},
		"None":   {reason: "nothing is asked for", source: `db.n`, want: int64(1), vars: []string{"db"}},
	}
	env := mustEnv(t, ReadyVar, "ready", "db", "web")
	a := Activation{
		"db": map[string]any{"n": int64(1)}, "ready": map[string]any{"n": int64(2)},
		ReadyVar: map[string]bool{"db": true, "web": false, "ready": true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			x := mustCompile(t, env, tc.source)
			got, err := x.Eval(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]any{tc.want, tc.asked, tc.vars}, []any{got, x.AskedReady(), x.FreeVariables()}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadyIssues(t *testing.T) {
	cases := map[string]struct {
		variables []string
		source    string
		offset    int
		message   string
	}{
		"Undeclared": {variables: []string{ReadyVar, "db"}, source: `true && ready(nobody)`, offset: 14, message: "undeclared reference to 'nobody'"},
		"Value":      {variables: []string{ReadyVar, "db"}, source: `ready(db.status)`, offset: 8, message: "wants the name of a child"},
		"Off":        {variables: []string{"db"}, source: `ready(db)`, offset: 5, message: "undeclared reference to 'ready'"},
		"Reserved":   {variables: []string{ReadyVar, "db"}, source: "true &&\n'ä' == 'b' || __ready.db", offset: 23, message: "reserved"},
		"Type":       {variables: []string{ReadyVar, "db"}, source: `ready(db) + 1`, offset: 10, message: "no matching overload"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, issues := mustEnv(t, tc.variables...).CompileExpr(tc.source)
			if len(issues) != 1 || issues[0].Offset != tc.offset || !strings.Contains(issues[0].Message, tc.message) {
				t.Errorf("issues %+v, want one at %d like %q", issues, tc.offset, tc.message)
			}
		})
	}
}

func TestTemplateAsked(t *testing.T) {
	env := mustEnv(t, ReadyVar, "db", "web")
	template, issues := env.CompileTemplate(map[string]any{"a": "${ready(web)}", "b": []any{"x ${ready(db)}", "${ready(web)}"}})
	if issues != nil {
		t.Fatal(issues)
	}
	got, err := template.Render(t.Context(), Activation{ReadyVar: map[string]bool{"db": true, "web": false}})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"a": false, "b": []any{"x true", false}}
	if diff := cmp.Diff([]any{want, []string{"db", "web"}, []string(nil)}, []any{got, template.AskedReady(), template.FreeVariables()}); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
