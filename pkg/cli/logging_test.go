package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// TestVerbosity: levels are as the flag says, but never those at which libraries log the
// bodies of requests.
func TestVerbosity(t *testing.T) {
	for value, want := range map[string]int{"": 0, "info": 0, "debug": 1, "1": 1, "5": 5, "6": 5, "10": 5, "100": 5} {
		t.Run(value, func(t *testing.T) {
			l, flags := newLogging(), pflag.NewFlagSet("test", pflag.ContinueOnError)
			l.addFlags(flags)
			if value != "" {
				if err := flags.Set("zap-log-level", value); err != nil {
					t.Fatal(err)
				}
			}
			var out bytes.Buffer
			logger := l.newLogger(&out)
			for level := range 12 {
				logger.V(level).Info(fmt.Sprintf("level-%d.", level))
			}
			for level := range 12 {
				if logged := strings.Contains(out.String(), fmt.Sprintf("level-%d.", level)); logged != (level <= want) {
					t.Errorf("V(%d) is logged: %v", level, logged)
				}
			}
		})
	}
}
