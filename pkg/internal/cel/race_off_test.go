//go:build !race

package cel

import "time"

// allowedTime is how long an evaluation may take.
const allowedTime = 100 * time.Millisecond
