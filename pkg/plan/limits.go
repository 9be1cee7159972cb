package plan

import (
	"fmt"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// The limits of what one owner may have.
const (
	// MaxElements is how many elements the list of a forEach may have.
	MaxElements = 1000
	// MaxObjects is how many objects may be rendered.
	MaxObjects = 2000
	// MaxObjectBytes is how large one of them may be, as JSON.
	MaxObjectBytes = 1 << 20
	// MaxBytes is how large all of them may be.
	MaxBytes = 64 << 20
	// maxInventory is how large the record of children may be: an object may have
	// 256 KiB of annotations.
	maxInventory = 192 << 10
	// maxEntries is how many entries it may have: those of all objects that are wanted, and
	// of as many that are not wanted any more.
	maxEntries = 2 * MaxObjects
)

// size is what was rendered so far.
type size struct{ objects, bytes int }

// add counts an object, and says if it is one too many, or too large.
func (s *size) add(c *child, it *item, object map[string]any) *Problem {
	bytes := sizeOf(object, 0)
	s.objects++
	s.bytes += bytes
	switch {
	case bytes > MaxObjectBytes:
		return tooMany(fmt.Sprintf("child %q: %s has %d bytes", c.ID, c.name(it), bytes), MaxObjectBytes)
	case s.objects > MaxObjects:
		return tooMany("the owner has too many children", MaxObjects)
	case s.bytes > MaxBytes:
		return tooMany("the children of the owner are too large together", MaxBytes)
	}
	return nil
}

func tooMany(what string, limit int) *Problem {
	return &Problem{Reason: v1alpha1.ReasonLimitExceeded, Terminal: true, Message: fmt.Sprintf("%s; the limit is %d", what, limit)}
}

// maxDepth is how deep sizeOf looks: the API server takes no deeper object.
const maxDepth = 10000

// sizeOf is about how many bytes a value has as JSON.
func sizeOf(v any, depth int) int {
	if depth > maxDepth {
		return MaxBytes
	}
	switch v := v.(type) {
	case string:
		return len(v) + 2
	case map[string]any:
		sum := 2
		for key, value := range v {
			sum += len(key) + 4 + sizeOf(value, depth+1)
		}
		return sum
	case []any:
		sum := 2
		for _, e := range v {
			sum += 1 + sizeOf(e, depth+1)
		}
		return sum
	case int64, float64:
		return 8
	}
	return 4
}
