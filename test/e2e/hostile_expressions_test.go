package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// hostileEach is how many expressions there are.
const hostileEach = 40

// hostileExpressions are those that package cel is tested with, some of each sort.
func hostileExpressions(t *testing.T) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(string(read(t, "../../pkg/internal/cel/testdata/hostile.txt"))) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			all = append(all, line)
		}
	}
	if len(all) < hostileEach {
		t.Fatalf("there are %d hostile expressions, want %d or more", len(all), hostileEach)
	}
	some := make([]string, hostileEach)
	for i := range some {
		some[i] = all[i*len(all)/hostileEach]
	}
	return some
}

// hostilePosition is a place in a policy where an expression may stand: what of the
// owner and of the spec of a policy has it.
type hostilePosition struct {
	name string
	in   func(expression string) (owner, spec map[string]any)
}

func hostilePositions() []hostilePosition {
	whole := func(expression string) string { return "[dyn(" + expression + ")].size() == 1" }
	return []hostilePosition{
		{"filter", func(x string) (owner, spec map[string]any) {
			return map[string]any{"filter": whole(strings.ReplaceAll(x, "owner", "object"))}, nil
		}},
		{"template", func(x string) (owner, spec map[string]any) {
			return nil, map[string]any{"children": []any{map[string]any{"id": "part", "template": map[string]any{
				"apiVersion": "hostile.example.com/v1", "kind": "Part", "metadata": map[string]any{"name": "${owner.metadata.name}"},
				"spec": map[string]any{"x": "${" + x + "}"},
			}}}}
		}},
		{"status", func(x string) (owner, spec map[string]any) {
			return nil, map[string]any{"status": map[string]any{"x": "${" + x + "}"}}
		}},
		{"condition", func(x string) (owner, spec map[string]any) {
			return nil, map[string]any{"conditions": []any{map[string]any{"type": "Hostile", "status": whole(x), "reason": "'Hostile'", "message": "'hostile'"}}}
		}},
	}
}

// hostileSpec is the spec of a Beast that is large where the expression looks.
func hostileSpec(expression string) map[string]any {
	spec := map[string]any{"size": int64(1)}
	if strings.Contains(expression, ".text") {
		spec["text"] = strings.Repeat("text ", 1<<20/5)
	}
	if strings.Contains(expression, ".list") || strings.Contains(expression, "owner ==") {
		spec["list"] = hostileList(10_000)
		if spec["text"] != nil { // etcd takes no more of both
			spec["text"] = strings.Repeat("text ", 1<<18/5)
		}
	}
	if strings.Contains(expression, ".map") {
		spec["map"] = hostileMap(10_000)
	}
	if strings.Contains(expression, ".deep") {
		spec["deep"] = hostileDepth(100)
	}
	return spec
}

func hostileList(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = map[string]any{"name": fmt.Sprint("name-", i), "n": int64(i), "tags": []any{"a", fmt.Sprint(i)}}
	}
	return list
}

func hostileMap(n int) map[string]any {
	m := map[string]any{}
	for i := range n {
		m[fmt.Sprint("key-", i)] = fmt.Sprint("value-", i)
	}
	return m
}

func hostileDepth(n int) any {
	var deep any = "end"
	for range n {
		deep = map[string]any{"d": deep, "list": []any{int64(1), nil, "x"}}
	}
	return deep
}
