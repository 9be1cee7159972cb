// Package program runs a program that is measured, and says what it uses.
package program

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

// Process is a program at work. Safe for concurrent use.
type Process struct {
	// Started is when it was started.
	Started time.Time

	cmd *exec.Cmd
	// output is what it prints; it may be read when ended is closed.
	output *bytes.Buffer
	// ended is closed when the process has ended.
	ended chan struct{}
}

// stopTimeout is how long a process may take to end after SIGTERM.
const stopTimeout = 20 * time.Second

// Start starts the program with its arguments. Whoever starts it calls Stop.
func Start(command []string) (*Process, error) {
	p := &Process{cmd: exec.Command(command[0], command[1:]...), output: &bytes.Buffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.output, p.output
	p.Started = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %q: %w", command[0], err)
	}
	go func() {
		defer close(p.ended)
		_ = p.cmd.Wait() // how it ended shows in cmd.ProcessState
	}()
	return p, nil
}

// During returns a context that also ends when the process does, with the end of
// its output as the cause, and when the timeout is over.
func (p *Process) During(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
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

// Stop asks the process to end and waits for it; it kills one that does not, and
// says so. It may be called again.
func (p *Process) Stop() error {
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

// Said returns the last n bytes of what it has printed. Only after Stop, or when
// a context of During has ended because the process did.
func (p *Process) Said(n int) string { return tail(p.output.String(), n) }

// Usage returns what the process uses. It needs Linux's /proc; elsewhere it
// returns an error.
func (p *Process) Usage() (Usage, error) { return ReadUsage(p.cmd.Process.Pid) }

// tail returns the last n bytes of s.
func tail(s string, n int) string { return s[max(0, len(s)-n):] }
