//go:build race

package cel

import "time"

// allowedTime is how long an evaluation may take: the race detector slows it down.
const allowedTime = 2 * time.Second
