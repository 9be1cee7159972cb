package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stopTimeout is how long a control plane may take to end; it takes 0.1 s.
const stopTimeout = 30 * time.Second

// description is what `controlplane up` prints when all is ready.
type description struct {
	Dir         string            `json:"dir"`
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	AuditLog    string            `json:"auditLog"`
	PIDs        map[string]int    `json:"pids"`
}

// process is a running `controlplane up`. It ends when its stdin closes, so it
// ends with this program whatever happens to that.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr *output
	exited chan struct{} // closed when it has ended and err is set
	err    error
	dir    string         // of its data; it removes it
	pids   map[string]int // of the servers

	once    sync.Once
	stopErr error
}

// startProcess returns when the control plane is ready. After an error nothing
// runs.
func startProcess(ctx context.Context, o Options) (*process, description, error) {
	program, err := findProgram()
	if err != nil {
		return nil, description{}, err
	}
	p := &process{cmd: exec.Command(program, o.args()...), stderr: &output{to: o.Stderr}, exited: make(chan struct{})}
	p.cmd.Stderr = p.stderr
	line := make(chan []byte, 1)
	p.cmd.Stdout = &firstLine{line: line}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, description{}, fmt.Errorf("making a pipe: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, description{}, fmt.Errorf("running %q: %w", program, err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	select {
	case data := <-line:
		var d description
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, description{}, joinStop(fmt.Errorf("reading the answer of %q: %w", program, err), p)
		}
		p.dir, p.pids = d.Dir, d.PIDs
		return p, d, nil
	case <-p.exited:
		return nil, description{}, p.failure()
	case <-ctx.Done():
		return nil, description{}, joinStop(context.Cause(ctx), p)
	}
}

// args are the command line, the same for the same options.
func (o Options) args() []string {
	args := []string{"up", "--until-stdin-closes", "--audit=" + strconv.FormatBool(o.Audit)}
	if o.Nodes != 0 {
		args = append(args, "--nodes="+strconv.Itoa(o.Nodes))
	}
	if o.APIServerMemory != "" {
		args = append(args, "--api-server-memory="+o.APIServerMemory)
	}
	if len(o.Without) > 0 {
		args = append(args, "--without="+strings.Join(o.Without, ","))
	}
	for _, file := range o.CRDs {
		args = append(args, "--crd="+file)
	}
	users := []string{}
	for name, groups := range o.Users {
		users = append(users, "--user="+name+"="+strings.Join(groups, ","))
	}
	slices.Sort(users)
	return append(args, users...)
}

// stop ends the process once.
func (p *process) stop() error {
	p.once.Do(func() { p.stopErr = p.end() })
	return p.stopErr
}

func (p *process) end() error {
	select {
	case <-p.exited:
		return fmt.Errorf("stopping a control plane: %w", p.failure())
	default:
	}
	closed := p.stdin.Close()
	select {
	case <-p.exited:
	case <-time.After(stopTimeout):
		killed := p.cmd.Process.Kill()
		<-p.exited
		return fmt.Errorf("stopping a control plane: not within %s: %w", stopTimeout, errors.Join(closed, killed, p.failure()))
	}
	if p.err != nil {
		return fmt.Errorf("stopping a control plane: %w", p.failure())
	}
	return nil
}

// failure is the error of a process that has ended by itself.
func (p *process) failure() error {
	how := errors.New("exit status 0")
	if p.err != nil {
		how = p.err
	}
	return fmt.Errorf("it has ended: %w; it said:\n%s", how, p.stderr.text())
}

// joinStop stops p because of err.
func joinStop(err error, p *process) error { return errors.Join(err, p.stop()) }
