package program

import (
	"context"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestProcess(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, err := Start([]string{"sh", "-c", "echo it broke; exit 3"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := p.During(t.Context(), time.Minute)
	defer cancel()
	<-ctx.Done()
	if cause := context.Cause(ctx).Error(); !strings.Contains(cause, "exit status 3") || !strings.Contains(cause, "it broke") {
		t.Errorf("A side that dies says how: %v", cause)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("Stopping what has ended is no error: %v", err)
	}
}

func TestProcessStops(t *testing.T) {
	defer goleak.VerifyNone(t)
	p, err := Start([]string{"sleep", "600"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Usage(); err != nil && runtime.GOOS == "linux" {
		t.Error(err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("SIGTERM ends it: %v", err)
	}
}

func TestParseUsage(t *testing.T) {
	const status = "Name:\tambit run\nVmHWM:\t   40960 kB\nVmRSS:\t   20480 kB\n"
	const stat = "7 (ambit (run) x) S 1 7 7 0 -1 4194560 100 0 0 0 150 50 0 0 20 0 9 0 1 2 3"
	got, err := parseUsage(status, stat)
	if err != nil {
		t.Fatal(err)
	}
	want := Usage{RSS: 20 << 20, Peak: 40 << 20, CPU: 2 * time.Second}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for name, texts := range map[string][2]string{
		"NoMemory": {"Name: gone\n", stat}, "NoTimes": {status, "7 (x) S 1"}, "NotANumber": {"VmHWM: a kB\nVmRSS: 1 kB\n", stat},
	} {
		if _, err := parseUsage(texts[0], texts[1]); err == nil {
			t.Errorf("%s: what cannot be read is an error, not a figure.", name)
		}
	}
}
