package cel

import (
	"strings"
	"testing"
)

// TestErrorsConceal: an error quotes the keys that the expression names, and nothing of the
// values that it is given, or that are written in it.
func TestErrorsConceal(t *testing.T) {
	const secret = "hush-5ecret"
	env := mustEnv(t, "owner")
	for source, want := range map[string]string{
		`owner.map[owner.text]`:                            "no such key: (a value)",
		`owner.map.other`:                                  "no such key: other",
		`owner.map["a b"]`:                                 "no such key: a b",
		`int(owner.text)`:                                  "type conversion error",
		`duration(owner.text)`:                             "",
		`timestamp(owner.text)`:                            "",
		`"a".matches("[" + owner.text)`:                    "(a value)",
		`url(owner.text + "%zz")`:                          "",
		`ip(owner.text)`:                                   "(a value)",
		`cidr(owner.text)`:                                 "(a value)",
		`quantity(owner.text)`:                             "",
		`semver(owner.text)`:                               "",
		`ip(has(owner.text) ? "hush-5ecret" : owner.text)`: "(a value)",
	} {
		t.Run(source, func(t *testing.T) {
			_, err := mustCompile(t, env, source).Eval(t.Context(), Activation{"owner": map[string]any{"text": secret, "map": map[string]any{}}})
			if err == nil {
				t.Fatal("it does not fail")
			}
			if strings.Contains(err.Error(), "5ecret") || !strings.Contains(err.Error(), want) {
				t.Errorf("says %q, want %q and no value", err, want)
			}
		})
	}
}
