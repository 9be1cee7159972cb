package policy

import (
	"context"
	"fmt"
	"strings"
	"testing"

	k8sfields "k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
	_ "github.com/ambit-dev/ambit/test/draws"
)

// TestPushDownProperty: every object that a filter selects, the API server selects
// too by what was pushed down of it.
func TestPushDownProperty(t *testing.T) {
	env, err := cel.NewEnv("object")
	if err != nil {
		t.Fatal(err)
	}
	value := rapid.SampledFrom([]string{"", "a", "b", "a,b", "a=b", `not a label`})
	path := rapid.SampledFrom([]string{"metadata.name", "metadata.namespace", "status.phase", "spec.nodeName", "spec.other",
		"metadata.labels.app", "metadata.labels['app']", "metadata.labels['x.y/z']"})
	atom := rapid.Custom(func(t *rapid.T) string {
		format := rapid.SampledFrom([]string{"object.%s == '%s'", "object.%s != '%s'", "'%[2]s' == object.%[1]s", "!(object.%s == '%s')"})
		return fmt.Sprintf(format.Draw(t, "form"), path.Draw(t, "path"), value.Draw(t, "literal"))
	})
	rapid.Check(t, func(t *rapid.T) {
		operator := rapid.SampledFrom([]string{" && ", " || "}).Draw(t, "operator")
		source := strings.Join(rapid.SliceOfN(atom, 1, 3).Draw(t, "atoms"), operator)
		filter, issues := env.CompileExpr(source)
		if len(issues) > 0 {
			t.Fatalf("%s: %v", source, issues)
		}
		label := map[string]any{"app": value.Draw(t, "app"), "x.y/z": value.Draw(t, "z")}
		object := map[string]any{
			"metadata": map[string]any{"name": value.Draw(t, "name"), "namespace": value.Draw(t, "namespace"), "labels": label},
			"status":   map[string]any{"phase": value.Draw(t, "phase")},
			"spec":     map[string]any{"nodeName": value.Draw(t, "node"), "other": value.Draw(t, "other")},
		}
		selected, err := filter.EvalBool(context.Background(), cel.Activation{"object": object})
		if err != nil || !selected {
			return
		}
		if p := pushDown(filter, schema.GroupVersionKind{Version: "v1", Kind: "Pod"}); !serverSelects(t, p, object) {
			t.Fatalf("%s selects %v, labels %v and fields %q do not", source, object, p.labels, p.fields)
		}
	})
}

// serverSelects is what the API server makes of selectors.
func serverSelects(t *rapid.T, p pushed, object map[string]any) bool {
	selector, err := k8sfields.ParseSelector(p.fields)
	if err != nil {
		t.Fatalf("%q: %v", p.fields, err)
	}
	set := k8sfields.Set{}
	for _, part := range []string{"metadata", "status", "spec"} {
		for k, v := range object[part].(map[string]any) {
			if s, ok := v.(string); ok {
				set[part+"."+k] = s
			}
		}
	}
	texts := labels.Set{}
	for k, v := range object["metadata"].(map[string]any)["labels"].(map[string]any) {
		texts[k] = v.(string)
	}
	return selector.Matches(set) && labels.NewSelector().Add(p.labels...).Matches(texts)
}
