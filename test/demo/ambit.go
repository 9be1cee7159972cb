package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// ambitProcess is a running bin/ambit.
type ambitProcess struct {
	cmd      *exec.Cmd
	log      *logBuffer
	stopping atomic.Bool // stop was called: its end is wanted
	// ended is closed when the process has ended; err is how, valid after that.
	ended chan struct{}
	err   error
}

// startAmbit starts bin/ambit with the given arguments. onEnd is called, from
// another goroutine, when the process ends without being stopped.
func startAmbit(onEnd func(), args ...string) (*ambitProcess, error) {
	p := &ambitProcess{cmd: exec.Command(ambitBinary, args...), log: &logBuffer{}, ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = environment()
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", ambitBinary, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
		if !p.stopping.Load() {
			onEnd()
		}
	}()
	return p, nil
}

// environment is our own without what would tell Ambit of another cluster.
func environment() []string {
	var env []string
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if name != "KUBECONFIG" && name != "WATCH_NAMESPACE" {
			env = append(env, entry)
		}
	}
	return env
}

// stop ends the process with SIGTERM and says how it ended: nil for exit code 0.
// A process that does not end in time is killed, which is an error.
func (p *ambitProcess) stop(patience time.Duration) error {
	p.stopping.Store(true)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("sending SIGTERM: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	select {
	case <-p.ended:
		return p.err
	case <-ctx.Done():
	}
	if err := p.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("killing it: %w", err)
	}
	<-p.ended
	return fmt.Errorf("it ran on for %s after SIGTERM and was killed", patience)
}

// logBuffer keeps what a process writes. Safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex // guards data
	data bytes.Buffer
}

// Write implements io.Writer.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.data.Write(p)
}

// tail returns the last lines.
func (b *logBuffer) tail(lines int) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := strings.Split(strings.TrimRight(b.data.String(), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}
