package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// startTimeout bounds the start of a control plane, which takes seconds.
const startTimeout = 3 * time.Minute

// upOptions are the flags of "up", checked.
type upOptions struct {
	bin, dir string // dir is empty for a temporary folder
	audit    bool
	without  []string
	nodes    int
	users    []user
	crds     []string // files
	stdin    bool     // end when stdin closes
	memory   string   // as in GOMEMLIMIT; empty: not fixed
}

// ready is what "up" prints on stdout, as one line of JSON, once everything
// answers.
type ready struct {
	Dir    string `json:"dir"`
	Server string `json:"server"`
	// Kubeconfigs are paths by the name of the user; "admin" is always there.
	Kubeconfigs map[string]string `json:"kubeconfigs"`
	// AuditLog is empty without --audit.
	AuditLog string         `json:"auditLog"`
	CAFile   string         `json:"caFile"`
	PIDs     map[string]int `json:"pids"`
}

// runUp is the verb "up". main calls it on the goroutine that owns the thread
// which the servers' lives are tied to. If the program is killed with SIGKILL,
// the servers go with it and the folder stays.
func runUp(ctx context.Context, args []string) error {
	o, err := parseUp(args)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if o.stdin {
		// It reads until the process ends, as no read of stdin can be given up.
		go func() {
			_, err := io.Copy(io.Discard, os.Stdin)
			cancel(err)
		}()
	}
	p, err := newPlane(o)
	if err != nil {
		return err
	}
	defer p.stop()
	began := time.Now()
	if err := startWithin(ctx, p); err != nil {
		if ctx.Err() != nil {
			return nil // told to end while starting
		}
		return fmt.Errorf("starting a control plane: %w", err)
	}
	r := p.ready()
	if err := json.NewEncoder(os.Stdout).Encode(r); err != nil {
		return fmt.Errorf("printing the result: %w", err)
	}
	fmt.Fprintf(os.Stderr, "ready after %s; Ctrl-C ends it\n\n  export KUBECONFIG=%s\n\n", seconds(time.Since(began)), r.Kubeconfigs[adminName])
	select {
	case <-ctx.Done():
		return nil
	case dead := <-p.died:
		return dead.failure()
	}
}

func startWithin(ctx context.Context, p *plane) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return p.start(ctx)
}

func parseUp(args []string) (upOptions, error) {
	o := upOptions{}
	flags := flag.NewFlagSet("up", flag.ContinueOnError)
	flags.StringVar(&o.bin, "bin", "", "folder of the binaries (default: the one of this program)")
	flags.StringVar(&o.dir, "dir", "", "new or empty folder for keys, data and logs, kept at the end (default: a temporary folder, removed at the end)")
	flags.BoolVar(&o.audit, "audit", false, "write an audit log of all requests but the control plane's own")
	flags.IntVar(&o.nodes, "nodes", 2, "number of fake nodes")
	flags.BoolVar(&o.stdin, "until-stdin-closes", false, "end when stdin closes, for programs that start this one")
	flags.StringVar(&o.memory, "api-server-memory", "", "`SIZE`, as in GOMEMLIMIT, that the API server fills before it collects garbage, so that its heap keeps its size: for measuring (default: its heap grows and shrinks)")
	flags.Func("without", "servers to leave out, separated by commas: kube-controller-manager, kube-scheduler, kwok", func(list string) error {
		o.without = append(o.without, strings.Split(list, ",")...)
		return nil
	})
	flags.Func("user", "`NAME[=GROUP,GROUP]` of a user with a kubeconfig and no rights; repeatable", func(s string) error {
		u, err := parseUser(s)
		o.users = append(o.users, u)
		return err
	})
	flags.Func("crd", "`FILE` with one CustomResourceDefinition that is there before the garbage collector starts, which sees later ones up to 45 s late; repeatable", func(file string) error {
		o.crds = append(o.crds, file)
		return nil
	})
	if err := parse(flags, args); err != nil {
		return o, err
	}
	if o.bin == "" {
		own, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("finding the folder of this program: %w", err)
		}
		o.bin = filepath.Dir(own)
	}
	return o, o.check()
}

func (o upOptions) check() error {
	for _, name := range o.without {
		if !slices.Contains([]string{controllerManager, scheduler, kwok}, name) {
			return usageError{fmt.Sprintf("--without %q: not one of %s, %s, %s", name, controllerManager, scheduler, kwok)}
		}
	}
	if o.nodes < 0 {
		return usageError{fmt.Sprintf("--nodes %d: less than 0", o.nodes)}
	}
	seen := map[string]bool{adminName: true}
	for server, own := range ownUsers() {
		seen[server], seen[own.name] = true, true
	}
	for _, u := range o.users {
		if seen[u.name] {
			return usageError{fmt.Sprintf("--user %q: twice, or a name that the control plane uses itself", u.name)}
		}
		seen[u.name] = true
	}
	return nil
}

// runs says whether the server is one to start.
func (o upOptions) runs(name string) bool { return !slices.Contains(o.without, name) }

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
