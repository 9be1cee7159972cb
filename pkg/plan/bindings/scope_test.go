package bindings

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/internal/cel"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// compile returns the program of a policy for Caches, from the rest of its spec.
func compile(t *testing.T, spec string) *policy.Program {
	t.Helper()
	text := "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: test, namespace: ambit-system}\n" +
		"spec:\n  owner: {apiVersion: example.com/v1, kind: Cache}\n"
	for line := range strings.Lines(spec) {
		text += "  " + line
	}
	documents, err := syntax.Parse("test.yaml", []byte(text))
	if err != nil || len(documents) != 1 {
		t.Fatalf("parsing a policy: %v\n%s", err, text)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatalf("compiling a policy: %v\n%s", err, text)
	}
	return program
}

// variablesSpec has a variable that can be computed, one that cannot, and one that reads it.
const variablesSpec = `variables:
- {name: size, expression: owner.spec.size}
- {name: color, expression: owner.spec.color}
- {name: shade, expression: color + "ish"}
- {name: count, expression: size(pods)}
watches: [{id: pods, apiVersion: v1, kind: Pod, filter: object.spec.ready}]
`

func bindCache(t *testing.T) Scope {
	t.Helper()
	owner := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"size": int64(3)}}}
	return BindOwner(t.Context(), compile(t, variablesSpec), owner, nil)
}

// TestBind: a variable without a value is blamed by all that reads it.
func TestBind(t *testing.T) {
	s := bindCache(t)
	if s.Vars["size"] != int64(3) {
		t.Errorf("size is %v", s.Vars["size"])
	}
	if _, bound := s.Vars["count"]; bound {
		t.Error("a variable that reads a watch is bound before there is one")
	}
	color, shade := s.failed["color"], s.failed["shade"]
	if color == nil || shade != color {
		t.Fatalf("color failed by %v, shade by %v", color, shade)
	}
	if !color.IsMissing || !strings.Contains(color.Text, "variables.color") {
		t.Errorf("the failure is %+v", color)
	}
	_, failure := Evaluate(&s, "status", reads{"size", "shade"}, func() (any, error) { return nil, errors.New("it was evaluated") })
	if failure != color {
		t.Errorf("blamed is %v", failure)
	}
	if s.ForgetVariable("shade"); s.FailedVariable(reads{"shade"}) != nil {
		t.Error("what is forgotten did not fail")
	}
}

// reads are the variables of an expression.
type reads []string

func (r reads) FreeVariables() []string { return r }
func (reads) AskedReady() []string      { return nil }

// TestEvaluate: a value, or what failed.
func TestEvaluate(t *testing.T) {
	s := bindCache(t)
	if value, failure := Evaluate(&s, "status", reads{"size"}, func() (int, error) { return 1, nil }); value != 1 || failure != nil {
		t.Errorf("got %v, %v", value, failure)
	}
	for name, tc := range map[string]struct {
		reason  string
		err     error
		text    string
		missing bool
		problem string
	}{
		"Plain":   {"an error is told with its place", errors.New("it fails"), "status: it fails", false, v1alpha1.ReasonExpressionFailed},
		"Leaf":    {"of a template the leaf is named", cel.LeafError{Path: "a.b", Err: errors.New("it fails")}, "status.a.b: it fails", false, v1alpha1.ReasonExpressionFailed},
		"Missing": {"a field that is not there", &cel.EvalError{Message: "no such key: x", NoSuchKey: true}, "no such key: x", true, v1alpha1.ReasonExpressionFailed},
		"Limit":   {"a limit is a reason of its own", fmt.Errorf("wrapped: %w", &cel.EvalError{Message: "too much", Budget: true}), "too much", false, v1alpha1.ReasonLimitExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			_, failure := Evaluate(&s, "status", reads{}, func() (any, error) { return nil, tc.err })
			if failure == nil || !strings.Contains(failure.Error(), tc.text) || failure.IsMissing != tc.missing {
				t.Fatalf("%s: got %+v", tc.reason, failure)
			}
			if p := failure.Problem(); p.Reason != tc.problem || !p.Terminal {
				t.Errorf("%s: the problem is %+v", tc.reason, p)
			}
		})
	}
}

// TestWatchFilter: an object that lacks a field which the filter reads is not selected; one of
// which the filter fails is a problem.
func TestWatchFilter(t *testing.T) {
	program := compile(t, variablesSpec)
	s := BindPolicy(program)
	filter := s.WatchFilter(t.Context(), program.Watches[0])
	for name, tc := range map[string]struct {
		ready         any
		wanted, fails bool
	}{
		"Ready": {true, true, false}, "NotReady": {false, false, false}, "Absent": {nil, false, false}, "Text": {"yes", false, true},
	} {
		spec := map[string]any{}
		if tc.ready != nil {
			spec["ready"] = tc.ready
		}
		wanted, failure := filter(&unstructured.Unstructured{Object: map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "a"}, "spec": spec}})
		if wanted != tc.wanted || (failure != nil) != tc.fails {
			t.Errorf("%s: got %t, %v", name, wanted, failure)
		}
	}
}

// TestBindElement: an element is seen as long as it is bound.
func TestBindElement(t *testing.T) {
	s, child := BindPolicy(compile(t, "")), &policy.Child{ID: "a"}
	if s.BindElement(child, 1); len(s.Vars) != 1 {
		t.Errorf("a child without forEach binds %v", s.Vars)
	}
	child.ForEach = &policy.ForEach{As: "it"}
	if s.BindElement(child, 1); s.Vars["it"] != 1 {
		t.Errorf("bound are %v", s.Vars)
	}
	if s.UnbindElement(child); len(s.Vars) != 1 {
		t.Errorf("still bound are %v", s.Vars)
	}
	s.BindAccess([]v1alpha1.DeniedAccess{{Verb: "get", Resource: "pods"}})
	denied, _ := s.Vars["access"].(map[string]any)["denied"].([]any)
	if len(denied) != 1 {
		t.Errorf("denied are %v", denied)
	}
}
