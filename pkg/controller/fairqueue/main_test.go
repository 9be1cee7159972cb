package fairqueue

import (
	"testing"
	"time"

	"go.uber.org/goleak"

	_ "github.com/ambit-dev/ambit/test/draws"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// start is the time at which tests begin that pass it themselves.
func start() time.Time { return time.Unix(1000, 0) }
