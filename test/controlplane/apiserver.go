package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
)

const (
	tokenFile = "tokens.csv"
	auditLog  = "audit.log"
	// etcd takes a socket's name only with something like a port.
	etcdSocket, peerSocket = "etcd.sock:0", "peer.sock:0"
	portAttempts           = 10
)

// startEtcd starts etcd on Unix sockets in the folder, so that nobody else can
// meet it by mistake. It forgets on a crash and elects itself in 0.1 to 0.2 s: there is
// one member, and its data is thrown away. At rest it does little but to count the time
// until its next heartbeat.
func (p *plane) startEtcd(ctx context.Context) error {
	started, err := p.run(etcd, "--name=e0", "--data-dir=etcd", "--log-level=warn",
		"--listen-client-urls=unix://"+etcdSocket, "--advertise-client-urls=unix://"+etcdSocket,
		"--listen-peer-urls=unix://"+peerSocket, "--initial-advertise-peer-urls=unix://"+peerSocket,
		"--initial-cluster=e0=unix://"+peerSocket,
		"--heartbeat-interval=50", "--election-timeout=250",
		"--unsafe-no-fsync", "--quota-backend-bytes=4294967296")
	if err != nil {
		return err
	}
	c := newSocketClient(filepath.Join(p.dir, etcdSocket))
	defer c.close()
	return started.await(ctx, func(ctx context.Context) error { return c.get(ctx, "/health", nil) })
}

// startAPIServer starts the API server on a free port. Another program may take
// the port between the choice and the use, so it tries again.
func (p *plane) startAPIServer(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := p.tryAPIServer(ctx)
		var taken portTakenError
		if !errors.As(err, &taken) || attempt == portAttempts {
			return err
		}
		fmt.Fprintf(os.Stderr, "port %d was taken meanwhile, trying another\n", taken.port)
	}
}

// portTakenError says that the API server lost its port to another program.
type portTakenError struct {
	port  int
	cause error
}

func (e portTakenError) Error() string { return e.cause.Error() }
func (e portTakenError) Unwrap() error { return e.cause }

func (p *plane) tryAPIServer(ctx context.Context) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	p.server = fmt.Sprintf("https://127.0.0.1:%d", port)
	p.client = newClient(p.server, p.own["controlplane"].token, p.ca)
	started, err := p.runWith(p.apiServerEnvironment(), apiServer, p.apiServerArgs(port)...)
	if err != nil {
		return err
	}
	err = started.await(ctx, func(ctx context.Context) error { return p.client.get(ctx, "/readyz", nil) })
	if err == nil {
		return p.writeKubeconfigs()
	}
	select {
	case <-started.exited:
	default:
		return err
	}
	if !bytes.Contains(started.tail(), []byte("address already in use")) {
		return err
	}
	<-p.died
	p.running = p.running[:len(p.running)-1]
	return portTakenError{port: port, cause: err}
}

func (p *plane) apiServerArgs(port int) []string {
	args := []string{
		"--etcd-servers=unix://" + etcdSocket,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/16",
		"--tls-cert-file=" + servingCert, "--tls-private-key-file=" + servingKey,
		"--client-ca-file=" + caFile, "--requestheader-client-ca-file=" + caFile, "--requestheader-allowed-names=front-proxy",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--requestheader-extra-headers-prefix=X-Remote-Extra-",
		"--authorization-mode=RBAC", "--token-auth-file=" + tokenFile, "--allow-privileged=true",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file=" + serviceAccPublic, "--service-account-signing-key-file=" + serviceAccKey,
		// It taints new nodes until a controller that is left out sees their heartbeats.
		"--disable-admission-plugins=TaintNodesByCondition",
	}
	if p.options.audit {
		// Written at once, not in batches, and to one file for ever.
		args = append(args, "--audit-policy-file=audit.yaml", "--audit-log-path="+auditLog, "--audit-log-mode=blocking", "--audit-log-maxsize=0")
	}
	return args
}

// apiServerEnvironment has the API server fill its memory before it collects garbage, if it is said how much that is.
func (p *plane) apiServerEnvironment() []string {
	if p.options.memory == "" {
		return nil
	}
	return []string{"GOGC=off", "GOMEMLIMIT=" + p.options.memory}
}

// freePort returns a port on which nobody listens now. It is below the range
// from which systems choose ports for outgoing connections.
func freePort() (int, error) {
	var lastErr error
	for range 100 {
		port := 20001 + rand.IntN(12000)
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err != nil {
			lastErr = err
			continue
		}
		if err := listener.Close(); err != nil {
			return 0, fmt.Errorf("freeing port %d: %w", port, err)
		}
		return port, nil
	}
	return 0, fmt.Errorf("finding a free port: %w", lastErr)
}

// writeKubeconfigs writes those of the people and of the other servers.
func (p *plane) writeKubeconfigs() error {
	for _, u := range p.users {
		if err := u.writeKubeconfig(kubeconfigPath(p.dir, u.name), p.server, p.ca); err != nil {
			return err
		}
	}
	for name, u := range p.own {
		if err := u.writeKubeconfig(kubeconfigPath(p.dir, name), p.server, p.ca); err != nil {
			return err
		}
	}
	return nil
}
