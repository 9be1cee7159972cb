package cel

import (
	"strings"
	"testing"
)

// TestOddInputs: whatever stands at a path, evaluating ends with a value or with
// an error that is no internal one.
func TestOddInputs(t *testing.T) {
	env := mustEnv(t, "owner")
	odd := []any{nil, true, int64(-1), 1.5, "", "text", []any{}, []any{nil}, map[string]any{}, map[string]any{"": nil}, huge()["spec"].(map[string]any)["deep"]}
	for _, source := range sortedKeys(corpus) {
		x := mustCompile(t, env, source)
		check := func(owner any) {
			t.Helper()
			if _, err := x.Eval(t.Context(), Activation{"owner": owner}); err != nil && strings.Contains(err.Error(), "internal error") {
				t.Errorf("%s of %v: %v", source, owner, err)
			}
		}
		for _, value := range odd {
			check(value)
			owner := sample()
			everywhere(owner, func(put func(any)) {
				put(value)
				check(owner)
			})
		}
	}
}

// everywhere calls f for each place in a tree, with what puts a value there; the
// old one is put back.
func everywhere(tree any, f func(put func(any))) {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			old := v[key]
			f(func(value any) { v[key] = value })
			v[key] = old
			everywhere(old, f)
		}
	case []any:
		for i, old := range v {
			f(func(value any) { v[i] = value })
			v[i] = old
			everywhere(old, f)
		}
	}
}

// TestUnbound: a variable that nobody bound is an error.
func TestUnbound(t *testing.T) {
	for _, source := range []string{`owner.a`, `owner.map(x, x)`, `'%s'.format([owner])`} {
		if _, err := mustCompile(t, mustEnv(t, "owner"), source).Eval(t.Context(), nil); err == nil || strings.Contains(err.Error(), "internal") {
			t.Errorf("%s: %v", source, err)
		}
	}
}
