package install

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"

	"github.com/ambit-dev/ambit/test/freeport"
)

// process is Ambit as a Deployment has it, outside of a container.
type process struct {
	url string // of its probes
	cmd *exec.Cmd
	log *lockedBuffer
}

// lockedBuffer is safe for concurrent use.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// run starts the program with the arguments of the Deployment in manifests, as one of
// its Pods: with that Pod's name, and a token of its ServiceAccount. more are more
// arguments. It waits until it is ready, and stops it at the end of the test.
func run(t *testing.T, program string, manifests []byte, more ...string) *process {
	t.Helper()
	deployment := only[appsv1.Deployment](t, objects(t, manifests), "Deployment")[0]
	config, err := control.ServiceAccount(t.Context(), deployment.Namespace, deployment.Spec.Template.Spec.ServiceAccountName)
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := control.Kubeconfig(config, kubeconfig); err != nil {
		t.Fatal(err)
	}
	probes := freeport.ForTest(t)
	p := &process{url: "http://" + probes, log: &lockedBuffer{}}
	args := mounted(t, manifests, deployment.Spec.Template.Spec, arguments(deployment.Spec.Template.Spec.Containers[0].Args, deployment.Namespace, probes, freeport.ForTest(t)))
	p.cmd = exec.Command(program, append(append(args, "--kubeconfig", kubeconfig), more...)...)
	p.cmd.Env = []string{"POD_NAME=" + podOf(t, deployment.Namespace), "POD_NAMESPACE=" + deployment.Namespace, "HOME=/nonexistent"}
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.stop(t) })
	p.awaitReady(t)
	return p
}

func (p *process) awaitReady(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for last := error(nil); ; {
		if last = p.ready(ctx); last == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("not ready within %s: %v\n%s", patience, last, p.log)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

func (p *process) ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s", answer.Status)
	}
	return nil
}

// stop ends the program as Kubernetes does. It may be called again.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.cmd.ProcessState != nil {
		return
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Errorf("stopping Ambit: %v", err)
	}
	if err := p.cmd.Wait(); err != nil {
		t.Errorf("Ambit ended with %v:\n%s", err, p.log)
	}
	if t.Failed() {
		t.Logf("Ambit says:\n%.20000s", p.log)
	}
}
