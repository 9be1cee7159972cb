package charge

import (
	"github.com/google/cel-go/common/types/ref"

	"github.com/ambit-dev/ambit/pkg/internal/cel/sandbox/meter"
)

// What the searches for runs of a schedule take, in steps: the rarest schedules that there are take so long.
const (
	scheduleSteps = 2_000
	openSteps     = 20_000
)

// scheduleRule: the last and the next run are looked for.
func scheduleRule(m *meter.Meter, _ []ref.Val) { m.ChargeSteps(scheduleSteps) }

// openRule: some dozens of runs are looked for.
func openRule(m *meter.Meter, _ []ref.Val) { m.ChargeSteps(openSteps) }
