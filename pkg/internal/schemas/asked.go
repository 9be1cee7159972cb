package schemas

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/internal/cel"
)

// Asked knows no kind, and keeps of which it was asked: a policy that is compiled with it
// tells which kinds it names, also if there is no program of it for its mistakes. The zero
// value was asked for none. It is not safe for concurrent use.
type Asked struct {
	kinds []schema.GroupVersionKind
}

// Schema keeps the kind, and knows nothing of it.
func (a *Asked) Schema(gvk schema.GroupVersionKind) (*cel.Schema, bool) {
	a.kinds = append(a.kinds, gvk)
	return nil, false
}

// Kinds returns the kinds, in the order in which they were asked for, some more than once
// if several policies name them. The result belongs to the caller.
func (a *Asked) Kinds() []schema.GroupVersionKind { return slices.Clone(a.kinds) }
