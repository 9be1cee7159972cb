package cel

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"sync"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"

	"github.com/ambit-dev/ambit/pkg/internal/timing"
)

// ClockVar is the variable of which `reached(x)` and `schedule(x, zone)` ask the time: what BindClock
// returns. It is bound by who evaluates; in an expression it cannot be written. Among the variables of an Env,
// it switches these functions on.
const ClockVar = "__clock"

// The names of the functions that the macros stand for, which no expression can write.
const (
	reachedFunction  = "@reached"
	scheduleFunction = "@schedule"
)

var (
	clockType    = types.NewOpaqueType("clock")
	scheduleType = types.NewOpaqueType("schedule")
)

// BindClock returns the value of ClockVar. The clock notes when the answers change that it gives.
func BindClock(clock *timing.Clock) any { return opaque{clockType, clock} }

// opaque is a value that functions pass on, and nothing else is done with.
type opaque struct {
	of    *types.Type
	value any
}

// ConvertToNative implements ref.Val.
func (o opaque) ConvertToNative(reflect.Type) (any, error) {
	return nil, fmt.Errorf("a %s is no value of a field", o.of.TypeName())
}

// ConvertToType implements ref.Val.
func (o opaque) ConvertToType(to ref.Type) ref.Val {
	if to == types.TypeType {
		return o.of
	}
	return types.NewErr("a %s cannot be turned into a %s", o.of.TypeName(), to.TypeName())
}

// Equal implements ref.Val.
func (o opaque) Equal(other ref.Val) ref.Val {
	known, ok := other.(opaque)
	return types.Bool(ok && known == o)
}

// Type implements ref.Val.
func (o opaque) Type() ref.Type { return o.of }

// Value implements ref.Val.
func (o opaque) Value() any { return o.value }

// zones are those that expressions have named.
var zones = sync.OnceValue(func() *timing.Zones { return &timing.Zones{} })

// timeFunctions are what the macros of timeMacros stand for, and the methods of a schedule.
func timeFunctions() []celgo.EnvOption {
	method := func(name string, result *celgo.Type, answer func(*timing.Runs) ref.Val) celgo.EnvOption {
		return celgo.Function(name, celgo.MemberOverload("schedule_"+name, []*celgo.Type{scheduleType}, result,
			celgo.UnaryBinding(func(s ref.Val) ref.Val { return answer(s.Value().(*timing.Runs)) })))
	}
	return []celgo.EnvOption{
		celgo.Function(reachedFunction, celgo.Overload("reached_timestamp", []*celgo.Type{clockType, celgo.TimestampType}, celgo.BoolType, celgo.BinaryBinding(askReached))),
		celgo.Function(scheduleFunction, celgo.Overload("schedule_string_string", []*celgo.Type{clockType, celgo.StringType, celgo.StringType}, scheduleType, celgo.FunctionBinding(askSchedule))),
		method("last", celgo.TimestampType, func(r *timing.Runs) ref.Val { return types.Timestamp{Time: r.LastRun()} }),
		method("next", celgo.TimestampType, func(r *timing.Runs) ref.Val { return types.Timestamp{Time: r.NextRun()} }),
		celgo.Function("open", celgo.MemberOverload("schedule_open_duration", []*celgo.Type{scheduleType, celgo.DurationType}, celgo.BoolType,
			celgo.BinaryBinding(func(s, during ref.Val) ref.Val {
				return types.Bool(s.Value().(*timing.Runs).IsOpen(during.Value().(time.Duration)))
			}))),
	}
}

func askReached(clock, at ref.Val) ref.Val {
	is, err := clock.Value().(*timing.Clock).HasReached(at.Value().(time.Time))
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(is)
}

// askSchedule finds the runs of a schedule. What the text says is not in its error: it may come from a Secret.
func askSchedule(args ...ref.Val) ref.Val {
	clock, text, zone := args[0].Value().(*timing.Clock), string(args[1].(types.String)), string(args[2].(types.String))
	if _, err := zones().LoadZone(zone); err != nil {
		return types.WrapErr(errors.New("schedule() wants the name of a time zone, as in 'Europe/Berlin', and was given another text"))
	}
	s, err := zones().ParseSchedule(text, zone)
	if err != nil {
		return types.WrapErr(errors.New("schedule() wants five fields that some minute matches, as in '0 3 * * *', and was given another text"))
	}
	runs, err := clock.RunsOf(s)
	if err != nil {
		return types.WrapErr(err)
	}
	return opaque{scheduleType, runs}
}

// timeMacros make `reached(x)` and `schedule(text, zone)` known: with a clock they ask it, and without one
// they are a mistake that says so.
func timeMacros(hasClock bool) []celgo.EnvOption {
	refused := func(eh celgo.MacroExprFactory, args []ast.Expr, name string) *celgo.Error {
		var at int64
		if len(args) > 0 {
			at = args[0].ID()
		}
		return eh.NewError(at, name+"() cannot be asked here, where the time is not known: ask it in children, variables, status, conditions, protect or expire")
	}
	reached := func(eh celgo.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *celgo.Error) {
		if !hasClock {
			return nil, refused(eh, args, "reached")
		}
		return eh.NewCall(reachedFunction, eh.NewIdent(ClockVar), args[0]), nil
	}
	schedule := func(eh celgo.MacroExprFactory, _ ast.Expr, args []ast.Expr) (ast.Expr, *celgo.Error) {
		if !hasClock {
			return nil, refused(eh, args, "schedule")
		}
		if err := checkSchedule(eh, args); err != nil {
			return nil, err
		}
		return eh.NewCall(scheduleFunction, eh.NewIdent(ClockVar), args[0], args[1]), nil
	}
	options := []celgo.EnvOption{celgo.Macros(celgo.GlobalMacro("reached", 1, reached), celgo.GlobalMacro("schedule", 2, schedule))}
	if hasClock {
		options = append(options, celgo.Variable(ClockVar, clockType))
	}
	return options
}

// checkSchedule says what is wrong with a schedule or a zone that is written out.
func checkSchedule(eh celgo.MacroExprFactory, args []ast.Expr) *celgo.Error {
	text, hasText := literalText(args[0])
	zone, hasZone := literalText(args[1])
	if hasZone {
		if _, err := zones().LoadZone(zone); err != nil {
			return eh.NewError(args[1].ID(), err.Error())
		}
	} else {
		zone = "UTC"
	}
	if hasText {
		if _, err := zones().ParseSchedule(text, zone); err != nil {
			return eh.NewError(args[0].ID(), err.Error())
		}
	}
	return nil
}

// literalText returns the text of a part of an expression that is one.
func literalText(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	text, ok := e.AsLiteral().(types.String)
	return string(text), ok
}

// asksTime reports whether an expression asks the clock.
func asksTime(root ast.Expr) bool {
	asks := false
	ast.PreOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) { asks = asks || isIdent(e, ClockVar) }))
	return asks
}

// wrongCall is what cel-go says of a call of a macro's function with arguments of other types, before and while it evaluates.
var wrongCall = regexp.MustCompile(`^(?:found no matching overload for '|no such overload: )@(reached|schedule)'?(?: applied to ')?\(clock, ?(.*)\)`)

// explainTime puts the message of a wrong call of a macro's function into the words of the macro.
func explainTime(message string) string {
	found := wrongCall.FindStringSubmatch(message)
	switch {
	case found == nil:
		return message
	case found[1] == "reached":
		return fmt.Sprintf("reached() wants a timestamp, as in reached(timestamp(owner.spec.until)), and is given %s", found[2])
	}
	return fmt.Sprintf("schedule() wants two texts, as in schedule('0 3 * * *', 'Europe/Berlin'), and is given %s", found[2])
}
