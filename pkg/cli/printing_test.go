package cli

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"
)

func TestProgress(t *testing.T) {
	cases := map[string]struct {
		reason string
		takes  time.Duration
		text   string
		want   string
	}{
		"Short":  {"What is done within a second says nothing.", 900 * time.Millisecond, "still here", ""},
		"Long":   {"Each second has its line, and after the end there is none.", 2500 * time.Millisecond, "still here", "still here\nstill here\n"},
		"Silent": {"Nothing new is no line.", 2500 * time.Millisecond, "", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var out bytes.Buffer
				stop := showProgress(&out, func() string { return tc.text })
				time.Sleep(tc.takes) // synctest's clock
				stop()
				time.Sleep(5 * time.Second)
				if got := out.String(); got != tc.want {
					t.Errorf("%s got %q, want %q", tc.reason, got, tc.want)
				}
			})
		})
	}
}
