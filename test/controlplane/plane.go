package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// plane is one control plane. All of it is for one goroutine, the one that is
// locked to its thread, see startProcess.
type plane struct {
	options  upOptions
	binaries map[string]string
	dir      string // absolute
	ca       []byte
	own      map[string]user // by server
	users    []user          // with tokens; the first is the administrator
	server   string          // known once the API server listens
	client   *client
	running  []*process
	died     chan *process // room for all that is ever started
}

// newPlane finds the binaries and makes the folder with keys and configuration.
// Whoever gets a plane calls stop.
func newPlane(o upOptions) (*plane, error) {
	names := []string{}
	for _, s := range servers() {
		if o.runs(s.name) {
			names = append(names, s.name)
		}
	}
	binaries, err := locate(o.bin, names)
	if err != nil {
		return nil, err
	}
	p := &plane{options: o, binaries: binaries, died: make(chan *process, len(names)+portAttempts), own: map[string]user{}}
	if p.dir, err = makeDir(o.dir); err != nil {
		return nil, err
	}
	if err := p.writeFiles(); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// start starts all servers and returns when they answer. After an error some
// may run; stop ends them.
func (p *plane) start(ctx context.Context) error {
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"etcd", p.startEtcd},
		{"kube-apiserver", p.startAPIServer},
		{"the other servers", p.startOthers},
	} {
		began := time.Now()
		if err := step.do(ctx); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "started %s in %s\n", step.what, seconds(time.Since(began)))
	}
	return nil
}

// run starts one server.
func (p *plane) run(name string, args ...string) (*process, error) {
	return p.runWith(nil, name, args...)
}

// runWith starts one server with an environment that is added to that of this program.
func (p *plane) runWith(environment []string, name string, args ...string) (*process, error) {
	started, err := startProcess(p.dir, name, p.binaries[name], args, environment, p.died)
	if err != nil {
		return nil, err
	}
	p.running = append(p.running, started)
	return started, nil
}

// ready describes the plane to whoever has started it.
func (p *plane) ready() ready {
	r := ready{
		Dir: p.dir, Server: p.server, CAFile: filepath.Join(p.dir, caFile),
		Kubeconfigs: map[string]string{}, PIDs: map[string]int{},
	}
	if p.options.audit {
		r.AuditLog = filepath.Join(p.dir, auditLog)
	}
	for _, u := range p.users {
		r.Kubeconfigs[u.name] = kubeconfigPath(p.dir, u.name)
	}
	for _, s := range p.running {
		r.PIDs[s.name] = s.cmd.Process.Pid
	}
	return r
}

// stop kills what runs, clients of a server first, waits for it, and removes a
// temporary folder. Nothing is shut down in order: the data is thrown away.
func (p *plane) stop() {
	for i := len(p.running) - 1; i >= 0; i-- {
		p.running[i].kill()
	}
	p.running = nil
	if p.client != nil {
		p.client.close()
	}
	if p.options.dir != "" {
		return
	}
	if err := os.RemoveAll(p.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintf(os.Stderr, "removing the temporary folder: %v\n", err)
	}
}
