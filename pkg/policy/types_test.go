package policy_test

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// kinds are the schemas of a few kinds.
type kinds struct {
	t     *testing.T
	asked map[schema.GroupVersionKind]bool
}

func newKinds(t *testing.T) kinds {
	return kinds{t: t, asked: map[schema.GroupVersionKind]bool{}}
}

// Schema implements policy.Schemas.
func (k kinds) Schema(gvk schema.GroupVersionKind) (*cel.Schema, bool) {
	if k.asked[gvk] {
		k.t.Errorf("the schema of %s is asked for a second time", gvk)
	}
	k.asked[gvk] = true
	text := map[string]string{
		"App":        "spec(size shards[](name size) labels* open) status(conditions[](type status) ready up denied shards[](name up) labels* open)",
		"Bare":       "spec(size)",
		"Plain":      "spec(size) status(size)",
		"Deployment": "spec(replicas template(metadata(labels*))) status(availableReplicas conditions[](type status))",
		"Pod":        "spec(nodeName containers[](name image)) status(phase)",
	}[gvk.Kind]
	if text == "" {
		return nil, false
	}
	known, _ := parseShape("apiVersion kind metadata(name namespace labels* annotations* uid) " + text + ")")
	return known, true
}

// parseShape reads the fields of an object up to its closing parenthesis: after a name
// stands `(...)` for an object, `[]` for a list of what follows, `*` for a map; else
// nothing is known of it.
func parseShape(text string) (*cel.Schema, string) {
	fields := map[string]func() *cel.Schema{}
	for {
		text = strings.TrimLeft(text, " ")
		if text == "" || text[0] == ')' {
			return cel.ObjectOf(fields), strings.TrimPrefix(text, ")")
		}
		end := strings.IndexAny(text, " ()[*")
		name := text[:end]
		var value *cel.Schema
		value, text = parseValue(text[end:])
		fields[name] = func() *cel.Schema { return value }
	}
}

func parseValue(text string) (*cel.Schema, string) {
	switch {
	case strings.HasPrefix(text, "*"):
		return cel.LazyMapOf(func() *cel.Schema { return nil }), text[1:]
	case strings.HasPrefix(text, "[]"):
		element, rest := parseValue(text[2:])
		return cel.ListOf(element), rest
	case strings.HasPrefix(text, "("):
		return parseShape(text[1:])
	}
	return nil, text
}
