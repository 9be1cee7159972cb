package sandbox

import (
	"math/bits"
	"slices"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/charge"
	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// loopRange is what a loop runs over: a list or a map that charges each round.
type loopRange struct {
	interpreter.InterpretableCall
	over   interpreter.InterpretableV2
	weight int // the steps of one round
}

// Eval implements interpreter.Interpretable.
func (n *loopRange) Eval(a interpreter.Activation) ref.Val { return n.Exec(interpreter.AsFrame(a)) }

// Exec implements interpreter.InterpretableV2.
func (n *loopRange) Exec(frame *interpreter.ExecutionFrame) ref.Val {
	switch v := n.over.Exec(frame).(type) {
	case traits.Mapper:
		return &loopMap{Mapper: v, meter: meterOf(frame), weight: n.weight}
	case traits.Lister:
		return &loopList{Lister: v, meter: meterOf(frame), weight: n.weight}
	default:
		return v
	}
}

// loopList is a list that a loop runs over.
type loopList struct {
	traits.Lister
	meter  *meter.Meter
	weight int
}

var _ traits.Foldable = (*loopList)(nil)

// Iterator implements traits.Iterable.
func (l *loopList) Iterator() traits.Iterator {
	return &loopIterator{list: l, size: charge.SizeOf(l.Lister)}
}

// Fold implements traits.Foldable.
func (l *loopList) Fold(f traits.Folder) {
	for i, size := 0, charge.SizeOf(l.Lister); i < size; i++ {
		l.meter.ChargeSteps(l.weight)
		if !f.FoldEntry(types.Int(i), l.Get(types.Int(i))) {
			return
		}
	}
}

// loopIterator goes over a list. Only its own methods and Type are ever called.
type loopIterator struct {
	ref.Val
	list     *loopList
	at, size int
}

// HasNext implements traits.Iterator.
func (it *loopIterator) HasNext() ref.Val { return types.Bool(it.at < it.size) }

// Next implements traits.Iterator.
func (it *loopIterator) Next() ref.Val {
	it.list.meter.ChargeSteps(it.list.weight)
	it.at++
	return it.list.Get(types.Int(it.at - 1))
}

// loopMap is a map that a loop runs over, in the order of its keys: so the same
// map gives the same result. Entries that are null are left out.
type loopMap struct {
	traits.Mapper
	meter  *meter.Meter
	weight int
}

var _ traits.Foldable = (*loopMap)(nil)

// Iterator implements traits.Iterable.
func (l *loopMap) Iterator() traits.Iterator {
	keys := types.NewRefValList(types.DefaultTypeAdapter, l.sortedKeys())
	return (&loopList{Lister: keys, meter: l.meter, weight: l.weight}).Iterator()
}

// Fold implements traits.Foldable.
func (l *loopMap) Fold(f traits.Folder) {
	for _, key := range l.sortedKeys() {
		l.meter.ChargeSteps(l.weight)
		if !f.FoldEntry(key, l.Get(key)) {
			return
		}
	}
}

// sortedKeys returns the keys in order, without those of entries that are null. Their
// sorting is charged.
func (l *loopMap) sortedKeys() []ref.Val {
	size := charge.SizeOf(l.Mapper)
	l.meter.ChargeSteps(size * bits.Len(uint(size)))
	l.meter.ChargeMemory(32 * size)
	keys := make([]ref.Val, 0, size)
	for it := l.Mapper.Iterator(); it.HasNext() == types.True; {
		if key := it.Next(); !holdsNull(l.Mapper, key) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	return keys
}

// compareKeys orders keys of one type by their value, and by types otherwise.
func compareKeys(x, y ref.Val) int {
	a, ok := x.(types.String)
	b, also := y.(types.String)
	if ok && also {
		return strings.Compare(string(a), string(b))
	}
	if x.Type() != y.Type() {
		return strings.Compare(x.Type().TypeName(), y.Type().TypeName())
	}
	if c, ok := x.(traits.Comparer); ok {
		if order, ok := c.Compare(y).(types.Int); ok {
			return int(order)
		}
	}
	return 0
}
