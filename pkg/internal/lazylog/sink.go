// Package lazylog has loggers whose values are not encoded before a line is written. A reconcile gets a
// logger of its own and mostly writes nothing.
package lazylog

import (
	"slices"

	"github.com/go-logr/logr"
)

// New returns a logger that writes what the given one does, and costs little until it writes.
func New(log logr.Logger) logr.Logger {
	if log.GetSink() == nil {
		return log
	}
	return log.WithSink(sink{base: log.WithCallDepth(1).GetSink()})
}

// sink is a logr.LogSink. It is immutable.
type sink struct {
	base   logr.LogSink
	values []any // keys and values of every line
}

// Init implements logr.LogSink.
func (s sink) Init(logr.RuntimeInfo) {} // the base was

// Enabled implements logr.LogSink.
func (s sink) Enabled(level int) bool { return s.base.Enabled(level) }

// Info implements logr.LogSink.
func (s sink) Info(level int, msg string, keysAndValues ...any) {
	s.base.Info(level, msg, slices.Concat(s.values, keysAndValues)...)
}

// Error implements logr.LogSink.
func (s sink) Error(err error, msg string, keysAndValues ...any) {
	s.base.Error(err, msg, slices.Concat(s.values, keysAndValues)...)
}

// WithValues implements logr.LogSink.
func (s sink) WithValues(keysAndValues ...any) logr.LogSink {
	s.values = slices.Concat(s.values, keysAndValues)
	return s
}

// WithName implements logr.LogSink.
func (s sink) WithName(name string) logr.LogSink {
	s.base = s.base.WithName(name)
	return s
}

// WithCallDepth implements logr.CallDepthLogSink.
func (s sink) WithCallDepth(depth int) logr.LogSink {
	if base, ok := s.base.(logr.CallDepthLogSink); ok {
		s.base = base.WithCallDepth(depth)
	}
	return s
}
