package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"
)

// garbage is how much of its heap, in percent, a server fills before it collects: heaps are
// small here and die soon, and collecting at 100, as Go does, is a fifth of an API server's work.
const garbage = "400"

// process is one running server. Its output goes to a log in the folder it
// runs in. Methods are safe for concurrent use.
type process struct {
	name, log string
	cmd       *exec.Cmd
	exited    chan struct{} // closed when it has ended and err is set
	err       error
}

// startProcess starts a server in dir. died receives the process when it ends,
// and must have room. The server dies with the thread that calls this, so the
// caller's goroutine is locked to a thread that lives as long as the program.
//
// environment is added to that of this program, and wins over it.
func startProcess(dir, name, path string, args, environment []string, died chan<- *process) (*process, error) {
	p := &process{name: name, log: filepath.Join(dir, name+".log"), exited: make(chan struct{})}
	out, err := os.Create(p.log)
	if err != nil {
		return nil, fmt.Errorf("making the log of %s: %w", name, err)
	}
	defer out.Close()
	p.cmd = exec.Command(path, args...)
	p.cmd.Dir, p.cmd.Stdout, p.cmd.Stderr = dir, out, out
	p.cmd.SysProcAttr = childAttributes()
	p.cmd.Env = slices.Concat([]string{"GOGC=" + garbage}, os.Environ(), environment) // whoever sets it otherwise is heard
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
		died <- p
	}()
	return p, nil
}

// kill ends the process at once and waits until it has ended.
func (p *process) kill() {
	// The one error there is says that it has ended already.
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// await calls probe until it returns nil. The error tells when the process has
// ended, or what probe said last.
func (p *process) await(ctx context.Context, probe func(context.Context) error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.exited:
			return p.failure()
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; the last try: %w; its log is %s", p.name, context.Cause(ctx), err, p.log)
		case <-tick.C:
		}
	}
}

// failure is the error for a process that has ended without being told to.
func (p *process) failure() error {
	<-p.exited
	how := errors.New("exit status 0")
	if p.err != nil {
		how = p.err
	}
	return fmt.Errorf("%s has ended: %w; the end of its log %s:\n%s", p.name, how, p.log, p.tail())
}

// tail is the end of the log: at most 20 lines.
func (p *process) tail() []byte {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return []byte(err.Error())
	}
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	return bytes.Join(lines[max(0, len(lines)-20):], []byte("\n"))
}
