package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/freeport"
)

// managerUsers are the two users of each story of replicas: the audit log tells the
// replicas apart by them.
func managerUsers() []string {
	return []string{"replica-lease-0", "replica-lease-1", "replica-life-0", "replica-life-1"}
}

// pairPolicy makes two ConfigMaps of each owner, the second from the first.
const pairPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: pair-%[1]s, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: first
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-first"}
        data: {size: "${string(owner.spec.size)}"}
    - id: second
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-second"}
        data: {from: "${first.metadata.uid}"}
`

// pair is two replicas, of which one works.
type pair struct {
	*world
	mode, namespace string
	binary, policy  string
	replicas        [2]*replicaProcess
	started         int // processes so far
}

// replicaProcess is one process of the built binary.
type replicaProcess struct {
	cmd    *exec.Cmd
	probes string // address
	pod    string // for life
	out    *lockedBuffer
}

// lockedBuffer is what a process says. Safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex // guards all
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func newPair(t *testing.T, mode string) *pair {
	t.Helper()
	p := &pair{world: newWorld(t, "replica-"+mode+"-0"), mode: mode, binary: buildAmbit(t)}
	p.policy = filepath.Join(t.TempDir(), "pair.yaml")
	if err := os.WriteFile(p.policy, fmt.Appendf(nil, pairPolicy, mode), 0o600); err != nil {
		t.Fatal(err)
	}
	p.namespace = p.control.Namespace(t.Context(), t, "replicas-"+mode)
	for i := range p.replicas {
		p.grantTo(p.userOf(i))
	}
	return p
}

func (p *pair) userOf(i int) string { return fmt.Sprintf("replica-%s-%d", p.mode, i) }

// grantTo gives a replica its rights: they are namespaced, leader election's too.
func (p *pair) grantTo(user string) {
	p.t.Helper()
	rules := []rbacv1.PolicyRule{
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"list", "watch"}},
		{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds/status"}, Verbs: []string{"patch"}},
		{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"create", "delete", "get", "list", "patch", "watch"}},
		{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"get"}},
		{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "create", "update"}},
	}
	rbac := p.typed.RbacV1()
	role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: user}, Rules: rules}
	if _, err := rbac.Roles(p.namespace).Create(p.t.Context(), role, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}
	if _, err := rbac.RoleBindings(p.namespace).Create(p.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
}

// start starts the replica of that number; for life, in a new Pod.
func (p *pair) start(i int) {
	p.t.Helper()
	p.started++
	r := &replicaProcess{probes: freeport.ForTest(p.t), out: &lockedBuffer{}, pod: fmt.Sprintf("ambit-%d", p.started)}
	kubeconfig := filepath.Join(p.t.TempDir(), "kubeconfig")
	if err := p.control.Kubeconfig(p.control.User(p.userOf(i)), kubeconfig); err != nil {
		p.t.Fatal(err)
	}
	if p.mode == "life" {
		p.makePod(r.pod)
	}
	r.cmd = exec.Command(p.binary, "run", "-f", p.policy, "--namespaces", p.namespace, "-n", p.namespace,
		"--leader-elect="+p.mode, "--health-probe-bind-address", r.probes, "--kubeconfig", kubeconfig)
	r.cmd.Env = append(os.Environ(), "POD_NAME="+r.pod)
	r.cmd.Stdout, r.cmd.Stderr = r.out, r.out
	if err := r.cmd.Start(); err != nil {
		p.t.Fatalf("starting ambit: %v", err)
	}
	p.t.Cleanup(func() {
		_ = r.cmd.Process.Kill() // it may have ended
		_ = r.cmd.Wait()
	})
	p.replicas[i] = r
}

// makePod makes a Pod that no scheduler takes: the process stands for its container.
func (p *pair) makePod(name string) {
	p.t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{SchedulerName: "nobody", Containers: []corev1.Container{{Name: "manager", Image: "ambit"}}},
	}
	p.eventually("Pod "+name+" is made", func(ctx context.Context) error {
		_, err := p.typed.CoreV1().Pods(p.namespace).Create(ctx, pod, metav1.CreateOptions{})
		return err
	})
}

// kill ends a replica by a signal, and its Pod with it. A clean stop has to be one.
func (p *pair) kill(i int, with syscall.Signal) {
	p.t.Helper()
	r := p.replicas[i]
	if err := r.cmd.Process.Signal(with); err != nil {
		p.t.Fatalf("killing replica %d: %v; it said:\n%s", i, err, r.out)
	}
	if err := r.cmd.Wait(); with == syscall.SIGTERM && err != nil {
		p.t.Errorf("replica %d stops with %v; it said:\n%s", i, err, r.out)
	}
	if p.mode == "life" {
		var now int64
		if err := p.typed.CoreV1().Pods(p.namespace).Delete(p.t.Context(), r.pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// ready waits until a replica is ready and says so by that text.
func (p *pair) ready(i int, text string) {
	p.t.Helper()
	r := p.replicas[i]
	defer func() {
		if p.t.Failed() {
			p.t.Logf("replica %d said:\n%s", i, r.out)
		}
	}()
	p.eventually(fmt.Sprintf("replica %d is %q", i, text), func(ctx context.Context) error { return r.isReady(ctx, text) })
}

func (r *replicaProcess) isReady(ctx context.Context, text string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.probes+"/readyz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && (response.StatusCode != http.StatusOK || !strings.HasPrefix(string(body), text)) {
		err = errors.New("it says " + response.Status + " " + string(body))
	}
	return err
}
