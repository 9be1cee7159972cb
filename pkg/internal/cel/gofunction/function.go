// Package gofunction makes functions of CEL of functions of Go.
//
// A Function has the types that its Go function declares: see New. A call converts the
// arguments, calls, and converts the result; both are copied, so that neither side sees what
// the other changes later. What goes wrong is an error of the expression that names the
// function: an argument of another type, the function's own error, its panic with the place of
// it, and a result that is no value of CEL. An argument or a result of more than
// meter.MaxResultBytes ends the evaluation, with a meter.LimitError.
//
// The package charges nothing for a call: package sandbox does. It knows no environment and no
// other functions: whether a name is free is for who declares it.
package gofunction

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/decls"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// Function is a function of CEL that a function of Go computes. It is immutable, and as safe for
// concurrent use as that one.
type Function struct {
	name       string
	function   reflect.Value
	parameters []*celgo.Type
	result     *celgo.Type
}

// New makes the function of a name. The Go function may have any number of parameters, but no
// variadic one, and one result, behind which an error may stand. They are of the types string, bool, int64,
// int, float64, []byte, time.Duration, time.Time and any, or lists ([]T) and maps (map[string]T) of
// these but for bytes and times, or types with one of these as the underlying type. The error names all
// that is not so.
func New(name string, function any) (*Function, error) {
	f := &Function{name: name, function: reflect.ValueOf(function)}
	if f.function.Kind() != reflect.Func || f.function.IsNil() {
		return nil, fmt.Errorf("function %q: it must be given a function of Go that is not nil, is given %T", name, function)
	}
	var found []error
	refuse := func(format string, args ...any) {
		found = append(found, fmt.Errorf("function %q: "+format, append([]any{name}, args...)...))
	}
	t := f.function.Type()
	if t.IsVariadic() {
		refuse("it is variadic, which a function of CEL cannot be: take a list (%s) as the last argument", t.In(t.NumIn()-1))
	}
	for i := range t.NumIn() {
		parameter, problem := celTypeOf(t.In(i), false)
		if problem != "" {
			refuse("argument %d is of type %s: %s", i+1, t.In(i), problem)
		}
		f.parameters = append(f.parameters, parameter)
	}
	if out := t.NumOut(); out == 0 || out > 2 || t.Out(0) == errorType || out == 2 && t.Out(1) != errorType {
		refuse("it must give one result, or a result and an error")
		return nil, errors.Join(found...)
	}
	result, problem := celTypeOf(t.Out(0), false)
	if problem != "" {
		refuse("the result is of type %s: %s", t.Out(0), problem)
	}
	f.result = result
	return f, errors.Join(found...)
}

var errorType = reflect.TypeFor[error]()

// Name is what expressions call the function by.
func (f *Function) Name() string { return f.name }

// Signature is the name with the types, as in `acme.zone(string, int) -> string`.
func (f *Function) Signature() string {
	parameters := make([]string, len(f.parameters))
	for i, parameter := range f.parameters {
		parameters[i] = parameter.String()
	}
	return fmt.Sprintf("%s(%s) -> %s", f.name, strings.Join(parameters, ", "), f.result)
}

// Declaration adds the function to an environment.
func (f *Function) Declaration() celgo.EnvOption {
	return celgo.Function(f.name,
		decls.DisableTypeGuards(true), // Call says better which argument is of a wrong type
		celgo.Overload(f.name+"_go", f.parameters, f.result, celgo.FunctionBinding(f.Call)))
}

// Call is the function as CEL calls it, with as many arguments as it declares. It panics with a meter.LimitError, as
// a meter does, if one of them or the result is too large.
func (f *Function) Call(args ...ref.Val) ref.Val {
	in := make([]reflect.Value, len(args))
	for i, arg := range args {
		value, err := argumentValue(arg, f.function.Type().In(i))
		if errors.Is(err, meter.ErrResultTooLarge) {
			panic(meter.LimitError(fmt.Sprintf("stopped at the size limit: argument %d of %s is larger than 1.5 MiB", i+1, f.name)))
		}
		if err != nil {
			return types.NewErr("%s: argument %d %w", f.name, i+1, err)
		}
		in[i] = value
	}
	given, err := f.callGoFunction(in)
	if err != nil {
		return types.NewErr("%s: %w", f.name, err)
	}
	result, err := resultValue(given.Interface())
	if errors.Is(err, meter.ErrResultTooLarge) {
		panic(meter.LimitError(fmt.Sprintf("stopped at the size limit: the result of %s is larger than 1.5 MiB", f.name)))
	}
	if err != nil {
		return types.NewErr("%s: %w", f.name, err)
	}
	return result
}

// callGoFunction calls the Go function. Its panic is an error, and so is its error.
func (f *Function) callGoFunction(in []reflect.Value) (result reflect.Value, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panics%s: %v", panicPlace(), r)
		}
	}()
	out := f.function.Call(in)
	if len(out) == 2 && !out[1].IsNil() {
		return out[0], out[1].Interface().(error)
	}
	return out[0], nil
}

// panicPlace is ` at FILE:LINE` of the call that has panicked, for a deferred function.
func panicPlace() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(2, callers)])
	for panicked := false; ; {
		frame, more := frames.Next()
		isRuntime := strings.HasPrefix(frame.Function, "runtime.")
		if panicked && !isRuntime {
			return fmt.Sprintf(" at %s:%d", filepath.Base(frame.File), frame.Line)
		}
		panicked = panicked || isRuntime
		if !more {
			return ""
		}
	}
}
