package cel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/interpreter"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// twin runs an expression as cel-go does by itself.
func twin(t testing.TB, env *Env, source string) *Expr {
	t.Helper()
	checked, issues := env.checkTypes(source)
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	run, err := env.env.Program(checked, celgo.EvalOptions(celgo.OptOptimize), celgo.CostLimit(1<<60))
	if err != nil {
		t.Fatal(err)
	}
	return &Expr{source: source, program: plainProgram{run}}
}

// plainProgram is a program without bounds.
type plainProgram struct{ celgo.Program }

// EvaluateWith is as sandbox.Program.EvaluateWith.
func (p plainProgram) EvaluateWith(_ context.Context, variables interpreter.Activation) (ref.Val, error) {
	value, _, err := p.Eval(variables)
	return value, err
}

// TestBoundedIsTheSame: with bounds, an expression gives what cel-go gives, which
// may depend on the order of a map there. Fields that are null it reads otherwise, see
// TestNull.
func TestBoundedIsTheSame(t *testing.T) {
	env := mustEnv(t, "owner")
	type pair struct{ bounded, plain *Expr }
	var pairs []pair
	sources := append(sortedKeys(corpus),
		`owner.spec.list.map(e, e.name + string(e.port)).join(',').replace('o', '0', 1).split(',').map(s, s.upperAscii())`,
		`owner.spec.words.sort() == ['a', 'b'] && 'a' in owner.spec.words && !(owner.spec.list[0] in owner.spec.words)`,
		`[owner.spec.map == owner.spec.map, owner.spec.list != owner.spec.words, owner == owner.spec, dyn(1) == 1.0, 'x' == dyn(1)]`,
		`owner.spec.words.map(w, w.matches('^[a-c]$') && w.find('[a-z]') == w ? w.findAll('.', 1) : [])`,
		`'%s %d %.2f %s'.format([owner.spec.name, owner.spec.size, owner.spec.ratio, owner.spec.words])`,
		`owner.spec.map.transformMap(k, v, v.v).transformMapEntry(k, v, {v: k})`,
		`[[1, 2], [2, 3]].flatten().distinct().map(i, quantity(string(i) + 'Mi')).exists(q, q.isGreaterThan(quantity('2Mi')))`,
		`[?owner.?spec.?name, ?owner.?none].map(x, {?'a': optional.of(x), 'b': owner.?none.or(owner.?spec).value().size})`,
		`lists.range(owner.spec.size).map(i, owner.spec.words[?i].orValue('none')) + owner.spec.words.slice(0, 1)`,
		`owner.?none.optFlatMap(x, x.?y).optMap(x, x + 1).or(owner.?spec.?size.optMap(s, s * 2)).orValue(0)`,
		`sets.contains(owner.spec.words, ['a']) && sets.equivalent(owner.spec.words, ['b', 'a', 'a'])`,
		`url('https://h:1/p?a=b&a=c').getQuery()['a'] + [string(ip('10.0.0.1')), b'x' + b'y' == b'xy' ? 'y' : 'n']`,
		`owner.spec.list.exists_one(e, e.port == 2) && owner.spec.list.all(i, e, i >= 0 && e.port > i)`,
		`timestamp('2026-01-02T03:04:05Z') + duration('1h') > timestamp('2026-01-02T03:04:05Z') ? size(owner) : size('äö')`,
	)
	for _, source := range sources {
		bounded := mustCompile(t, env, source)
		bounded.program = meteredProgram(t, env, source)
		pairs = append(pairs, pair{bounded, twin(t, env, source)})
	}
	check := func(t failer, p pair, owner map[string]any) {
		t.Helper()
		got, diff := gives(p.bounded, owner), ""
		for range 50 {
			want := gives(p.plain, owner)
			if diff = cmp.Diff(want, got); diff == "" || want == "fails inside" { // its count of costs does
				return
			}
		}
		t.Fatalf("%s over %v (-cel-go +here):\n%s", p.plain.source, owner, diff)
	}
	for _, p := range pairs {
		check(t, p, withoutNulls(sample()).(map[string]any))
	}
	rapid.Check(t, func(t *rapid.T) {
		owner := sample()
		mutate(t, owner)
		check(t, rapid.SampledFrom(pairs).Draw(t, "expression"), withoutNulls(owner).(map[string]any))
	})
}

// gives is a result or what kind of failure there is instead.
func gives(x *Expr, owner map[string]any) string {
	value, err := x.Eval(context.Background(), Activation{"owner": owner})
	switch {
	case err == nil:
		return fmt.Sprint(value)
	case strings.Contains(err.Error(), "internal error"):
		return "fails inside"
	case IsNoSuchKey(err):
		return "no such key"
	}
	return "fails"
}
