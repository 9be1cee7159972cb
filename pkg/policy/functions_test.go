package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// acme are functions of a program of somebody's own.
func acme(t *testing.T) *policy.Functions {
	t.Helper()
	functions, err := policy.NewFunctions(
		policy.Function("acme.slug", strings.ToLower),
		policy.Function("acme.zone", func(string, int64) (string, error) { return "", nil }),
	)
	if err != nil {
		t.Fatal(err)
	}
	return functions
}

// TestNewFunctions: all that is wrong with functions is said at once.
func TestNewFunctions(t *testing.T) {
	f := func(s string) string { return s }
	_, err := policy.NewFunctions(
		policy.Function("slug", f), policy.Function("size", f), policy.Function("owner.f", f), policy.Function("acme..f", f), policy.Function("acme.for", f),
		policy.Function("acme-corp.f", f), policy.Function("", f), policy.Function("sets.f", nil), policy.Function("acme.f", func(int32) string { return "" }),
	)
	want := `functions of policies:
function "slug": CEL and Kubernetes may come to have a function of that name: put a word of your own before it, as in acme.slug
function "size": CEL and Kubernetes may come to have a function of that name: put a word of your own before it, as in acme.size
function "owner.f": "owner" is bound in expressions by Ambit itself: begin with a word of your own, as in acme.f
function "acme..f": a name is words of letters, digits and _ with dots between them, as in acme.zone, and none is a reserved word of CEL
function "acme.for": a name is words of letters, digits and _ with dots between them, as in acme.zone, and none is a reserved word of CEL
function "acme-corp.f": a name is words of letters, digits and _ with dots between them, as in acme.zone, and none is a reserved word of CEL
function "": a name is words of letters, digits and _ with dots between them, as in acme.zone, and none is a reserved word of CEL
function "sets.f": "sets" is for functions of CEL, Kubernetes and Ambit: begin with a word of your own, as in acme.f
function "sets.f": it must be given a function of Go that is not nil, is given <nil>
function "acme.f": argument 1 is of type int32: use string, bool, int64, float64, []byte, time.Duration, time.Time or any, or []T or map[string]T of these
`
	if diff := cmp.Diff(want, fmt.Sprintln(err)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
