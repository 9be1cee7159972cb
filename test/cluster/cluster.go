package cluster

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Options say what to start. The zero value is a whole control plane with two
// nodes, without an audit log, and with the administrator as its only user.
type Options struct {
	// Audit records all requests but the control plane's own; see Cluster.Audit.
	Audit bool
	// Without are servers to leave out: "kube-controller-manager",
	// "kube-scheduler", "kwok". Without the first nothing is garbage collected
	// and no Deployment gets Pods; without the other two no Pod runs.
	Without []string
	// Nodes is the number of fake nodes; 0 means 2.
	Nodes int
	// Users are names with their groups, known to the API server and without
	// any right until a test grants some.
	Users map[string][]string
	// CRDs are files with one CustomResourceDefinition each, as seen from the
	// working directory, that are there before the garbage collector starts. It
	// sees a kind that is applied later up to 45 s late, and until then leaves
	// the children of a deleted owner of that kind.
	CRDs []string
	// APIServerMemory is what the API server fills before it collects garbage, as in GOMEMLIMIT, for
	// who measures: its heap keeps its size then. Empty: it grows and shrinks.
	APIServerMemory string
	// Stderr gets what the control plane says while it starts; nil means that
	// only an error shows it.
	Stderr io.Writer
}

// Cluster is a running control plane. Its methods are safe for concurrent use.
type Cluster struct {
	process *process
	configs map[string]*rest.Config // by user
	typed   kubernetes.Interface    // as administrator
	applier *applier
	audit   *Audit // nil without Options.Audit
}

// admin is the user of group system:masters.
const admin = "admin"

// Start starts a control plane and returns when all of it answers. ctx bounds
// the start only. After an error nothing runs; otherwise the caller calls Stop.
// If the calling program dies, the control plane does too.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	p, info, err := startProcess(ctx, o)
	if err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", err)
	}
	c, err := newCluster(p, info)
	if err != nil {
		return nil, fmt.Errorf("starting a control plane: %w", joinStop(err, p))
	}
	return c, nil
}

func newCluster(p *process, info description) (*Cluster, error) {
	c := &Cluster{process: p, configs: map[string]*rest.Config{}}
	for name, path := range info.Kubeconfigs {
		config, err := clientcmd.BuildConfigFromFlags("", path)
		if err != nil {
			return nil, fmt.Errorf("reading the kubeconfig of %q: %w", name, err)
		}
		config.QPS = -1
		c.configs[name] = config
	}
	if c.configs[admin] == nil {
		return nil, fmt.Errorf("there is no kubeconfig of %q", admin)
	}
	var err error
	if c.typed, err = kubernetes.NewForConfig(c.configs[admin]); err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	if c.applier, err = newApplier(c.configs[admin]); err != nil {
		return nil, err
	}
	if info.AuditLog != "" {
		c.audit = &Audit{path: info.AuditLog}
	}
	return c, nil
}

// Stop ends the control plane and waits until all its processes have ended; its
// data is gone. The error tells if it had ended before, and why. Further calls
// return the same.
func (c *Cluster) Stop() error { return c.process.stop() }

// PID returns the process of a server, "etcd" or "kube-apiserver" for one; 0 if it is left out.
func (c *Cluster) PID(server string) int { return c.process.pids[server] }

// Admin returns a configuration that may do everything and is not rate limited.
// The caller owns it.
func (c *Cluster) Admin() *rest.Config { return rest.CopyConfig(c.configs[admin]) }

// User returns the configuration of a user of Options.Users, not rate limited.
// The caller owns it. It panics for any other name, a mistake in the test.
func (c *Cluster) User(name string) *rest.Config {
	config := c.configs[name]
	if config == nil || name == admin {
		known := slices.Sorted(maps.Keys(c.configs))
		panic(fmt.Sprintf("cluster: no user %q in Options.Users, which TestMain of the package fills: it has %s", name, strings.Join(known, ", ")))
	}
	return rest.CopyConfig(config)
}

// Audit returns the audit log, the same for all callers. It panics without
// Options.Audit, a mistake in the test.
func (c *Cluster) Audit() *Audit {
	if c.audit == nil {
		panic("cluster: started without Options.Audit")
	}
	return c.audit
}
