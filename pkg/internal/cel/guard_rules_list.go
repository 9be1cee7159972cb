package cel

import (
	"math/bits"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

func rangeRule(m *meter, args []ref.Val) {
	if n, ok := args[0].(types.Int); ok && n > 0 {
		m.need(int(min(int64(n), MemoryLimit)) * 48)
		m.step(int(n))
	}
}

func sortRule(m *meter, args []ref.Val) {
	size := sizeOf(args[0])
	by := args[len(args)-1]
	_, bytes := m.scan(by, true)
	m.step((2*size + bytes/64) * bits.Len(uint(size)))
	m.need(96 * size)
}

// pairsRule is for what compares each with each.
func pairsRule(m *meter, args []ref.Val) {
	parts, bytes := m.scanAll(args)
	size := 0
	for _, arg := range args {
		size = max(size, sizeOf(arg))
	}
	m.step((parts + bytes/64) * (1 + size/4))
	m.need(64 * parts)
}

// insertRule: a macro's own map grows, any other is copied.
func insertRule(m *meter, args []ref.Val) {
	added := 1
	if len(args) == 2 {
		added = sizeOf(args[1])
	}
	if _, ok := args[0].(traits.MutableMapper); !ok {
		added += sizeOf(args[0])
	}
	m.step(4 * added)
	m.make(160 * added)
}
