package meter

import "time"

const (
	// CostLimit bounds one evaluation in steps. A step is about one part of an
	// expression that is evaluated, or one value that a function looks at. So many
	// steps take less than half of TimeLimit on a slow machine.
	CostLimit = 1_000_000
	// TimeLimit bounds one evaluation. It is checked every few thousand steps, so that
	// a quick evaluation can never fail by it, however busy the machine is.
	TimeLimit = 100 * time.Millisecond
	// MemoryLimit bounds what one evaluation may allocate, in bytes. The heap may grow
	// by twice as much, for values that are not collected at once.
	MemoryLimit = 32 << 20
	// MaxResultBytes bounds the result of one expression, counted as it is
	// converted: 1.5 MiB, the size of the largest request that etcd takes.
	MaxResultBytes = 3 << 19

	// DefaultBudgetTime and DefaultBudgetBytes are what all evaluations over one
	// plan may take together, see NewBudget.
	DefaultBudgetTime  = time.Second
	DefaultBudgetBytes = 128 << 20
)

// LimitError says at which limit an evaluation was stopped. Its text is for users.
type LimitError string

// Error implements error.
func (e LimitError) Error() string { return string(e) }

const (
	errCost   LimitError = "stopped at the cost limit: it takes more than 1000000 steps"
	errTime   LimitError = "stopped at the time limit: it takes longer than 100ms"
	errMemory LimitError = "stopped at the memory limit: it needs more than 64 MiB"
	// ErrResultTooLarge is for a result of more than MaxResultBytes.
	ErrResultTooLarge LimitError = "stopped at the size limit: the result is larger than 1.5 MiB"
)
