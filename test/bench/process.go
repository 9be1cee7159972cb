package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// process is a side at work. Safe for concurrent use.
type process struct {
	// started is when it was started.
	started time.Time
	cmd     *exec.Cmd
	// output is what it prints; it may be read when ended is closed.
	output *bytes.Buffer
	// ended is closed when the process has ended.
	ended chan struct{}
}

// stopTimeout is how long a process may take to end after SIGTERM.
const stopTimeout = 20 * time.Second

// start starts the program. Whoever starts it calls stop.
func start(command []string) (*process, error) {
	p := &process{cmd: exec.Command(command[0], command[1:]...), output: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %q: %w", command[0], err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended shows in cmd.ProcessState
	}()
	return p, nil
}

// during returns a context that also ends when the process does, with the end of
// its output as the cause, and when the timeout is over.
func (p *process) during(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	ctx, stop := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not done after %s", timeout))
	go func() {
		select {
		case <-p.ended:
			cancel(fmt.Errorf("the process ended (%s): %s", p.cmd.ProcessState, tail(p.output.String(), 2000)))
		case <-ctx.Done():
		}
	}()
	return ctx, func() { stop(); cancel(nil) }
}

// stop asks the process to end and waits for it; it kills one that does not, and
// says so.
func (p *process) stop() error {
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stopping %q: %w", p.cmd.Path, err)
	}
	select {
	case <-p.ended:
		return nil
	case <-time.After(stopTimeout):
	}
	if err := p.cmd.Process.Kill(); err != nil {
		return fmt.Errorf("killing %q: %w", p.cmd.Path, err)
	}
	<-p.ended
	return fmt.Errorf("stopping %q: still running %s after SIGTERM", p.cmd.Path, stopTimeout)
}

// tail returns the last n bytes of s.
func tail(s string, n int) string { return s[max(0, len(s)-n):] }
