// Package poll waits in tests until something is so. Who looks every few milliseconds, as long as it takes, keeps an API
// server busy with little else: a third of all requests to that of test/e2e were such looks.
package poll

import (
	"context"
	"math"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Until looks at once, and then again after pauses that begin with 10 ms and grow by half each time, up to 100 ms: what
// comes soon is seen soon, and no wait is longer by more than 100 ms, and a check, than it has to be.
//
// It returns nil when check returns true, the error of check, or that of the context when that or limit is over. check is
// given the context that ends so.
func Until(ctx context.Context, limit time.Duration, check wait.ConditionWithContextFunc) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	pauses := wait.Backoff{Duration: 10 * time.Millisecond, Factor: 1.5, Steps: math.MaxInt, Cap: 100 * time.Millisecond}
	return pauses.DelayFunc().Until(ctx, true, true, check)
}
