package cel

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// rendering is one run over a template.
type rendering struct {
	activation Activation
	partial    bool     // false: the first failure ends the run
	shares     bool     // constant parts are not copied
	owned      []string // keys of the map that is rendered, below which they are
}

// renderingBelow is the run over what is at a key of a map.
func (r rendering) renderingBelow(key string) rendering {
	r.shares = r.shares && !slices.Contains(r.owned, key)
	r.owned = nil
	return r
}

// node is a part of a template. Its result is only good without failures, or
// in a partial rendering.
type node interface {
	renderNode(context.Context, rendering) (any, []LeafError)
}

type constantNode struct {
	value     any
	holdsNull bool
}

func (n constantNode) renderNode(_ context.Context, r rendering) (any, []LeafError) {
	if r.shares && !n.holdsNull {
		return n.value, nil
	}
	return copyJSON(n.value), nil
}

func copyJSON(value any) any {
	switch v := value.(type) {
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, below := range v {
			m[key] = copyJSON(below)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, below := range v {
			l[i] = copyJSON(below)
		}
		return l
	}
	return value
}

type expressionNode struct{ expr *Expr }

func (n expressionNode) renderNode(ctx context.Context, r rendering) (any, []LeafError) {
	value, err := n.expr.Eval(ctx, r.activation)
	if err != nil {
		return Absent, []LeafError{{Err: err}}
	}
	return value, nil
}

// textNode is literal text and expressions in turn.
type textNode []textPart

type textPart struct {
	literal string
	expr    *Expr // nil: literal
}

func (n textNode) renderNode(ctx context.Context, r rendering) (any, []LeafError) {
	value, err := n.joinParts(ctx, r)
	if err != nil {
		return Absent, []LeafError{{Err: err}}
	}
	return value, nil
}

func (n textNode) joinParts(ctx context.Context, r rendering) (string, error) {
	var b strings.Builder
	for _, p := range n {
		if p.expr == nil {
			b.WriteString(p.literal)
			continue
		}
		value, err := p.expr.Eval(ctx, r.activation)
		if err != nil {
			return "", err
		}
		if err := writeText(&b, p.expr, value); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func writeText(b *strings.Builder, x *Expr, value any) error {
	switch v := value.(type) {
	case string:
		b.WriteString(v)
	case int64:
		b.WriteString(strconv.FormatInt(v, 10))
	case float64:
		b.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
	case bool:
		b.WriteString(strconv.FormatBool(v))
	default:
		return x.wrongType(value, "a string, number or bool inside of text")
	}
	if b.Len() > meter.MaxResultBytes {
		return &EvalError{Source: x.source, Message: meter.ErrResultTooLarge.Error(), Budget: true}
	}
	return nil
}

type mapNode struct {
	keys  []string // sorted
	nodes []node
}

func (n mapNode) renderNode(ctx context.Context, r rendering) (any, []LeafError) {
	m := make(map[string]any, len(n.keys))
	var failed []LeafError
	for i, key := range n.keys {
		value, f := n.nodes[i].renderNode(ctx, r.renderingBelow(key))
		if len(f) > 0 {
			failed = append(failed, prefixPaths(key, f)...)
			if !r.partial {
				return nil, failed
			}
		}
		if value != Absent {
			m[key] = value
		}
	}
	return m, failed
}

type listNode []node

func (n listNode) renderNode(ctx context.Context, r rendering) (any, []LeafError) {
	l := make([]any, 0, len(n))
	var failed []LeafError
	for i, element := range n {
		value, f := element.renderNode(ctx, r)
		if len(f) > 0 {
			failed = append(failed, prefixPaths("["+strconv.Itoa(i)+"]", f)...)
			if !r.partial {
				return nil, failed
			}
		}
		if value != Absent {
			l = append(l, value)
		}
	}
	return l, failed
}
