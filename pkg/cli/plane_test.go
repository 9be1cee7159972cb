package cli_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/cli"
	"github.com/ambit-dev/ambit/test/cluster"
	"github.com/ambit-dev/ambit/test/poll"
)

// control is the API server of the tests that need one, with the kinds Memcached and
// ReconcilePolicy. The first of them starts it; scripts run without.
var control = cluster.NewLazy(cluster.Options{
	CRDs:    []string{"../../examples/memcached/crd.yaml", "../../manifests/crd/ambit.dev_reconcilepolicies.yaml"},
	Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"},
})

// stage is what one test works with: a namespace of its own for accounts, and a
// command line with a caller of its own.
type stage struct {
	*testing.T
	plane      *cluster.Cluster
	typed      kubernetes.Interface // as administrator
	home       string               // namespace of the accounts
	kubeconfig string
}

// newStage returns a stage whose caller has the rights of a ClusterRole, if not
// empty, and those of rules.
func newStage(t *testing.T, clusterRole string, rules ...rbacv1.PolicyRule) *stage {
	t.Helper()
	s := &stage{T: t, plane: control.Cluster(t)}
	var err error
	if s.typed, err = kubernetes.NewForConfig(s.plane.Admin()); err != nil {
		t.Fatal(err)
	}
	s.home = s.namespace("home")
	config, err := s.plane.ServiceAccount(t.Context(), s.home, "caller")
	if err != nil {
		t.Fatal(err)
	}
	s.kubeconfig = s.write(config)
	if len(rules) > 0 {
		clusterRole = s.home
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: clusterRole}, Rules: rules}
		if _, err := s.typed.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	if clusterRole != "" {
		s.bind(clusterRole)
	}
	return s
}

// bind gives the caller a ClusterRole, and waits until the API server knows of it: it
// decides by a cache.
func (s *stage) bind(clusterRole string) {
	s.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: s.home + "-"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: clusterRole},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.home, Name: "caller"}},
	}
	if _, err := s.typed.RbacV1().ClusterRoleBindings().Create(s.Context(), binding, metav1.CreateOptions{}); err != nil {
		s.Fatal(err)
	}
	role, err := s.typed.RbacV1().ClusterRoles().Get(s.Context(), clusterRole, metav1.GetOptions{})
	if err != nil {
		s.Fatal(err)
	}
	s.plane.Decided(s.Context(), s, "system:serviceaccount:"+s.home+":caller", "", true, role.Rules[0])
}

func (s *stage) namespace(prefix string) string { return s.plane.Namespace(s.Context(), s.T, prefix) }

func (s *stage) write(config *rest.Config) string {
	s.Helper()
	path := filepath.Join(s.TempDir(), "kubeconfig")
	if err := s.plane.Kubeconfig(config, path); err != nil {
		s.Fatal(err)
	}
	return path
}

// policy is a policy for the Memcacheds of this stage.
func (s *stage) policy(extra string) []byte {
	return fmt.Appendf(nil, `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %[1]s, namespace: %[1]s}
spec:
  %[2]s
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached, selector: {matchLabels: {stage: %[1]s}}, filter: object.spec.size > 0}
  children:
    - id: deployment
      template: {apiVersion: apps/v1, kind: Deployment, metadata: {name: "${owner.metadata.name}"}}
  watches:
    - {id: pods, apiVersion: v1, kind: Pod}
`, s.home, extra)
}

// owner makes an owner of this stage.
func (s *stage) owner(namespace string, size int) {
	s.Helper()
	s.apply(fmt.Appendf(nil, `{apiVersion: cache.example.com/v1alpha1, kind: Memcached,
  metadata: {name: cache, namespace: %s, labels: {stage: %s}}, spec: {size: %d}}`, namespace, s.home, size))
}

func (s *stage) apply(documents []byte) {
	s.Helper()
	if err := s.plane.Apply(s.Context(), documents); err != nil {
		s.Fatal(err)
	}
}

// result is what a command came to.
type result struct {
	Code           int
	Stdout, Stderr string
}

// ambit runs a command with the policy on stdin, as the caller.
func (s *stage) ambit(policy []byte, command string, args ...string) result {
	if command == "cleanup" {
		args = append([]string{"-n", s.home}, args...) // the policies are in Ambit's own namespace
	}
	if command == "run" || command == "cleanup" {
		return s.ambitWith(s.Context(), policy, command, args...)
	}
	return s.inProcess(policy, command, args...)
}

// ambitWith is ambit in a process of its own, with a context that may end: `run` and
// `cleanup` set the loggers of the libraries, which this process uses too.
func (s *stage) ambitWith(ctx context.Context, policy []byte, command string, args ...string) result {
	var out, errOut bytes.Buffer
	cmd := exec.CommandContext(ctx, "ambit", append([]string{command, "-f", "-", "--kubeconfig", s.kubeconfig}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(policy), &out, &errOut
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) && ctx.Err() == nil {
		s.Errorf("running ambit %s: %v", command, err)
	}
	return result{Code: cmd.ProcessState.ExitCode(), Stdout: out.String(), Stderr: errOut.String()}
}

// inProcess runs a command with the policy on stdin, as the caller.
func (s *stage) inProcess(policy []byte, command string, args ...string) result {
	var out, errOut bytes.Buffer
	streams := genericiooptions.IOStreams{In: bytes.NewReader(policy), Out: &out, ErrOut: &errOut}
	args = append([]string{"ambit", command, "-f", "-", "--kubeconfig", s.kubeconfig}, args...)
	code := cli.Main(s.Context(), args, streams)
	return result{Code: code, Stdout: out.String(), Stderr: errOut.String()}
}

// patience is how long a test waits for what has to happen.
const patience = 2 * time.Minute

// until runs a command until it comes to what is wanted: the API server takes
// some milliseconds to know a right.
func (s *stage) until(wanted func(result) bool, policy []byte, command string, args ...string) result {
	s.Helper()
	var last result
	err := poll.Until(s.Context(), patience, func(context.Context) (bool, error) {
		last = s.ambit(policy, command, args...)
		return wanted(last), nil
	})
	if err != nil {
		s.Fatalf("%s: %v; the last result was %d\n%s%s", command, err, last.Code, last.Stdout, last.Stderr)
	}
	return last
}
