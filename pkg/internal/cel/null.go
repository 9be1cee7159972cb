package cel

import (
	"fmt"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"github.com/google/cel-go/interpreter"
)

// decorateNull makes an entry of a map that is null read as one that is not there,
// whether by x.f, x.?f, has(x.f), x[f] or x[?f]. It is given a variable before
// fields of it are selected. The values are not copied: null is noticed where it is read.
func decorateNull(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	switch n := i.(type) {
	case *nullFree:
		return n, nil
	case interpreter.InterpretableAttribute:
		return &nullFree{n}, nil
	}
	return i, nil
}

// nullFree is a variable, or a part of one, whose fields are never null.
type nullFree struct {
	interpreter.InterpretableAttribute
}

// AddQualifier implements interpreter.Attribute.
func (n *nullFree) AddQualifier(q interpreter.Qualifier) (interpreter.Attribute, error) {
	return n.InterpretableAttribute.AddQualifier(&nullFreeField{Qualifier: q, test: isTest(q)})
}

// isTest reports whether a qualifier is that of has(). cel-go has no name for it: it
// gives whether a field is there, where others give what is in it.
func isTest(q interpreter.Qualifier) bool {
	named, ok := q.(interpreter.ConstantQualifier)
	if !ok {
		return false
	}
	name, ok := named.Value().(types.String)
	if !ok {
		return false
	}
	given, err := q.Qualify(interpreter.EmptyActivation(), map[string]any{string(name): name})
	return err == nil && given == true
}

// nullFreeField selects a field, or an element of a list, which may be null.
type nullFreeField struct {
	interpreter.Qualifier
	test bool // its result is whether the field is there
}

// Qualify implements interpreter.Qualifier.
func (q *nullFreeField) Qualify(vars interpreter.Activation, obj any) (any, error) {
	if q.test {
		_, present, err := q.QualifyIfPresent(vars, obj, true)
		return present, err
	}
	value, err := q.Qualifier.Qualify(vars, obj)
	if err == nil && isNullEntry(obj, value) {
		return nil, fmt.Errorf("%s%v", missingKey, q.fieldName(vars))
	}
	return value, err
}

// QualifyIfPresent implements interpreter.Qualifier.
func (q *nullFreeField) QualifyIfPresent(vars interpreter.Activation, obj any, presenceOnly bool) (any, bool, error) {
	value, present, err := q.Qualifier.QualifyIfPresent(vars, obj, presenceOnly)
	if present && isNullEntry(obj, value) {
		return nil, false, err
	}
	return value, present, err
}

// fieldName is the name of the field.
func (q *nullFreeField) fieldName(vars interpreter.Activation) any {
	switch k := q.Qualifier.(type) {
	case interpreter.ConstantQualifier:
		return k.Value()
	case interpreter.Attribute:
		if key, err := k.Resolve(vars); err == nil {
			return key
		}
	}
	return redacted
}

// isNullEntry reports whether a value that was found in obj is null and obj a map.
func isNullEntry(obj, value any) bool {
	if value != nil && value != types.NullValue {
		return false
	}
	switch obj.(type) {
	case map[string]any, traits.Mapper:
		return true
	}
	return false
}
