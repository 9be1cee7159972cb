package jsonvalue

import (
	"reflect"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
)

type absent struct{}

// Absent is what Convert gives for an optional without a value. It is compared with ==.
var Absent any = absent{}

// nativeListType is the type of lists whose Value costs nothing. That of a
// concatenation first makes all of it, and of what is in it, uncounted.
var nativeListType = reflect.TypeOf(types.DefaultTypeAdapter.NativeToValue([]any{}))

// NativeList returns what a list of CEL is made of, if that is JSON-like already. It is the
// list's own, and must not be changed. It costs nothing.
func NativeList(l traits.Lister) ([]any, bool) {
	if reflect.TypeOf(l) != nativeListType {
		return nil, false
	}
	native, ok := l.Value().([]any)
	return native, ok
}

// TypeName names the type of a CEL or JSON-like value as CEL does.
func TypeName(value any) string {
	if v, ok := value.(ref.Val); ok {
		return v.Type().TypeName()
	}
	if value == Absent {
		return "an absent optional"
	}
	return types.DefaultTypeAdapter.NativeToValue(value).Type().TypeName()
}
