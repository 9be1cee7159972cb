package cel

import (
	"context"
	"strconv"
	"strings"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox"
)

// rendering is one run over a template.
type rendering struct {
	activation Activation
	partial    bool // false: the first failure ends the run
}

// node is a part of a template. Its result is only good without failures, or
// in a partial rendering.
type node interface {
	render(context.Context, rendering) (any, []LeafError)
}

type constant struct{ value any }

func (n constant) render(context.Context, rendering) (any, []LeafError) {
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

type lone struct{ expr *Expr }

func (n lone) render(ctx context.Context, r rendering) (any, []LeafError) {
	value, err := n.expr.Eval(ctx, r.activation)
	if err != nil {
		return Absent, []LeafError{{Err: err}}
	}
	return value, nil
}

// text is literal text and expressions in turn.
type text []part

type part struct {
	literal string
	expr    *Expr // nil: literal
}

func (n text) render(ctx context.Context, r rendering) (any, []LeafError) {
	value, err := n.join(ctx, r)
	if err != nil {
		return Absent, []LeafError{{Err: err}}
	}
	return value, nil
}

func (n text) join(ctx context.Context, r rendering) (string, error) {
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
		if err := write(&b, p.expr, value); err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

func write(b *strings.Builder, x *Expr, value any) error {
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
	if b.Len() > sandbox.MaxResultBytes {
		return &EvalError{Source: x.source, Message: sandbox.ErrResultTooLarge.Error(), Budget: true}
	}
	return nil
}

type mapping struct {
	keys  []string // sorted
	nodes []node
}

func (n mapping) render(ctx context.Context, r rendering) (any, []LeafError) {
	m := make(map[string]any, len(n.keys))
	var failed []LeafError
	for i, key := range n.keys {
		value, f := n.nodes[i].render(ctx, r)
		if len(f) > 0 {
			failed = append(failed, below(key, f)...)
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

type sequence []node

func (n sequence) render(ctx context.Context, r rendering) (any, []LeafError) {
	l := make([]any, 0, len(n))
	var failed []LeafError
	for i, element := range n {
		value, f := element.render(ctx, r)
		if len(f) > 0 {
			failed = append(failed, below("["+strconv.Itoa(i)+"]", f)...)
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
