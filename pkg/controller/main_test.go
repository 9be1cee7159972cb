package controller

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testBackoff is Controller.backoffAfter without jitter.
func testBackoff(failures int) time.Duration {
	e := &Controller{options: Options{Jitter: func(time.Duration) time.Duration { return 0 }}}
	return e.backoffAfter(failures)
}
