package cel

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// hostile returns the expressions of testdata/hostile.txt.
func hostile(t testing.TB) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/hostile.txt")
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			sources = append(sources, line)
		}
	}
	return sources
}

// huge is an owner that is as large as the API server lets it be, or larger.
func huge() map[string]any {
	list, m := make([]any, 10_000), map[string]any{}
	for i := range list {
		list[i] = map[string]any{"name": fmt.Sprint("name-", i), "n": int64(i), "tags": []any{"a", "b", fmt.Sprint(i)}, "nothing": nil}
		m[fmt.Sprint("key-", i)] = fmt.Sprint("value-", i)
	}
	var deep any = "end"
	for range 100 {
		deep = map[string]any{"d": deep, "list": []any{int64(1), nil, "x"}}
	}
	return map[string]any{
		"apiVersion": "v1", "kind": "Thing", "metadata": map[string]any{"name": "huge"},
		"spec": map[string]any{"text": strings.Repeat("text ", 1<<20/5), "list": list, "map": m, "deep": deep, "nothing": nil},
	}
}

// TestNotStopped: what a policy may well do, with the large owner.
func TestNotStopped(t *testing.T) {
	a := Activation{"owner": huge()}
	for _, source := range []string{
		`owner.spec.list.filter(x, x.n % 2 == 0).map(x, x.name).size()`,
		`owner.spec.list.map(x, x.name).join(',').size()`,
		`owner.spec.list.exists(x, x.name == 'name-9999')`,
		`owner.spec.list.map(x, {'name': x.name, 'port': x.n})`,
		`owner.spec.list.sortBy(x, x.name)[0].name`,
		`owner.spec.map.transformList(k, v, k + '=' + v).join('\n').size()`,
		`owner.spec.text.split(' ').size()`,
		`owner.spec.text.replace('text', 'word').size()`,
		`owner.spec.list == owner.spec.list`,
		`owner.spec.map.transformMap(k, v, v + 'x')`,
		`owner.spec.list.transformMapEntry(i, x, {x.name: x.n}).size()`,
		`owner.spec.list.slice(0, 1000).map(x, x.name).distinct().sort().join(',').upperAscii().size()`,
		`owner.spec.list.map(x, x.tags).flatten().size()`,
		`owner.spec.list.map(x, '%s-%d'.format([x.name, x.n])).size()`,
		`owner.spec.list.all(x, x.name.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$'))`,
		`owner.spec.list.map(x, quantity('1Gi')).size()`,
		`owner.spec.text.contains('word') || owner.spec.text.startsWith('text')`,
	} {
		_, err := mustCompile(t, mustEnv(t, "owner"), source).Eval(t.Context(), a)
		if err != nil && !strings.Contains(err.Error(), "time limit") { // others may use the machine
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestPanicsAreErrors: what cel-go or a function in it cannot handle.
func TestPanicsAreErrors(t *testing.T) {
	env := mustEnv(t, "owner")
	for _, source := range []string{`{b'a': 1}`, `b'a' in [b'a', b'b'] && {dyn(b'a'): 1}.size() == 1`, `[?owner]`, `owner[?owner]`, `owner in ['a', 'b']`} {
		x, issues := env.CompileExpr(source)
		if len(issues) > 0 {
			if issues[0].Message == "" || x != nil {
				t.Errorf("%s: %v", source, issues)
			}
			continue
		}
		for _, value := range []any{nil, []byte("a"), map[string]any{}, []any{[]any{}}, struct{}{}, make(chan int), 1 << 40, float32(1)} {
			_, _ = x.Eval(t.Context(), Activation{"owner": value})
			_, _ = x.EvalBool(t.Context(), Activation{"owner": value})
		}
	}
}
