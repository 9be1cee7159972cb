package syntax

import (
	"fmt"
	"math"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Value makes a JSON-like value of n, a node of the text. What is no JSON is a mistake.
func (f *Diagnostics) Value(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		out := map[string]any{}
		EachPair(n, func(key, value *yaml.Node) { out[key.Value] = f.Value(value) })
		return out
	case yaml.SequenceNode:
		out := make([]any, len(n.Content))
		for i, item := range n.Content {
			out[i] = f.Value(item)
		}
		return out
	case yaml.ScalarNode:
		out, err := scalarValue(n)
		if err != nil {
			f.At(n, "%v", err)
		}
		return out
	default:
		return nil // an alias: said by lint
	}
}

// scalarValue returns n as JSON has it: a date is the string that it is written as.
func scalarValue(n *yaml.Node) (any, error) {
	switch n.Tag {
	case "!!null":
		return nil, nil
	case "!!bool":
		var b bool
		return b, n.Decode(&b)
	case "!!int":
		var i int64
		if n.Decode(&i) != nil {
			return nil, fmt.Errorf("the number %s is too large: quote it if it is meant as text", n.Value)
		}
		return i, nil
	case "!!float":
		var x float64
		if !strings.Contains(n.Value, ".") && !strings.ContainsAny(n.Value, "eE") {
			return nil, fmt.Errorf("the number %s is too large: quote it if it is meant as text", n.Value)
		}
		if n.Decode(&x) != nil || math.IsInf(x, 0) || math.IsNaN(x) {
			return nil, fmt.Errorf("%s is no number in JSON: quote it if it is meant as text", n.Value)
		}
		return x, nil
	default:
		return n.Value, nil
	}
}
