package install

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/ambit-dev/ambit/test/cluster"
)

// removal is a cluster of its own, for everything goes, and a shell in it.
type removal struct {
	t    *testing.T
	dir  string
	path string
}

// newRemoval starts the cluster, where nothing runs in Pods.
func newRemoval(t *testing.T) (*removal, *cluster.Cluster) {
	t.Helper()
	c, err := cluster.Start(t.Context(), cluster.Options{
		CRDs:    []string{root + "/manifests/demo/crd.yaml", root + "/manifests/crd/ambit.dev_reconcilepolicies.yaml"},
		Without: []string{"kube-scheduler", "kwok"},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	r := &removal{t: t, dir: t.TempDir(), path: t.TempDir()}
	for name, to := range map[string]string{"ambit": build(t), "kubectl": program(t, "kubectl")} {
		if err := os.Symlink(to, filepath.Join(r.path, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, folder := range []string{"manifests", "policies", "examples"} {
		to, err := filepath.Abs(filepath.Join(root, folder))
		if err == nil {
			err = os.Symlink(to, filepath.Join(r.dir, folder))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Kubeconfig(c.Admin(), filepath.Join(r.dir, "kubeconfig")); err != nil {
		t.Fatal(err)
	}
	return r, c
}

// command is a shell with a script, as administrator.
func (r *removal) command(ctx context.Context, script string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", script)
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+filepath.Join(r.dir, "kubeconfig"), "PATH="+r.path+":"+os.Getenv("PATH"))
	return cmd
}

// sh runs a script, which must succeed, and returns what it says.
func (r *removal) sh(script string) string {
	r.t.Helper()
	output, err := r.command(r.t.Context(), script).CombinedOutput()
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, output)
	}
	return string(output)
}

// await runs a script until it succeeds.
func (r *removal) await(what, script string) {
	r.t.Helper()
	eventually(r.t, what, func() error { return r.command(r.t.Context(), script).Run() })
}

// start runs Ambit as its ServiceAccount, and returns what stops it.
func (r *removal) start(c *cluster.Cluster) (stop func()) {
	r.t.Helper()
	as, err := c.ServiceAccount(r.t.Context(), home, "ambit")
	if err == nil {
		err = c.Kubeconfig(as, filepath.Join(r.dir, "ambit-kubeconfig"))
	}
	if err != nil {
		r.t.Fatal(err)
	}
	var log bytes.Buffer
	cmd := r.command(context.WithoutCancel(r.t.Context()), "exec ambit run --policies-from crd -n "+home+" --kubeconfig ambit-kubeconfig")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	stop = func() {
		if cmd.ProcessState != nil {
			return
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			r.t.Error(err)
		}
		if err := cmd.Wait(); err != nil || r.t.Failed() {
			r.t.Errorf("Ambit ended with %v\n%s", err, &log)
		}
	}
	r.t.Cleanup(stop)
	return stop
}

// removalSteps are the commands of docs/operations.md, Removal, in their order.
func removalSteps(t *testing.T) []string {
	t.Helper()
	_, section, _ := strings.Cut(string(read(t, root+"/docs/operations.md")), "\n## Removal\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var steps []string
	for _, match := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(section, -1) {
		steps = append(steps, match[1])
	}
	if len(steps) != 4 {
		t.Fatalf("there are %d steps with commands, want 4: %q", len(steps), steps)
	}
	return steps
}

// elsewhere is the policy of a team, whose owners have a finalizer.
const elsewhere = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: elsewhere, namespace: team-a}
spec:
  owner: {apiVersion: v1, kind: ConfigMap, selector: {matchLabels: {copy: "true"}}}
  children:
    - {id: copy, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: copy, namespace: team-b}, data: "${owner.data}"}}
`

// TestRemoval does as docs/operations.md says, word for word: two policies, what they
// made, their rights and the installation go; the owners stay.
func TestRemoval(t *testing.T) {
	steps := removalSteps(t)
	r, c := newRemoval(t)
	if err := os.WriteFile(filepath.Join(r.dir, "elsewhere.yaml"), []byte(elsewhere), 0o600); err != nil {
		t.Fatal(err)
	}
	r.sh(`kubectl apply --server-side -k manifests/cluster
		for team in team-a team-b; do kubectl create namespace $team; done
		kubectl apply -f policies/memcached.yaml -f elsewhere.yaml
		ambit rbac -f policies/memcached.yaml -f elsewhere.yaml | kubectl apply -f -
		kubectl create configmap original -n team-a --from-literal=a=b
		kubectl label configmap original -n team-a copy=true
		kubectl create -n team-a -f - <<<'{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: cache}, spec: {size: 1}}'`)
	stop := r.start(c)
	r.await("the policies have done their work", `kubectl get deployment cache -n team-a && kubectl get configmap copy -n team-b
		for policy in ambit-system/memcached team-a/elsewhere; do
			[[ $(kubectl get reconcilepolicy ${policy#*/} -n ${policy%/*} -o jsonpath='{.metadata.finalizers}') == *ambit.dev/cleanup* ]]
		done`)

	if output, err := r.command(t.Context(), steps[0]).CombinedOutput(); err == nil || !strings.Contains(string(output), "original") {
		t.Errorf("An owner could not be deleted: %v\n%s", err, output)
	}
	for _, format := range []string{"json", "yaml"} {
		if output := r.sh("kubectl get reconcilepolicies -A --show-managed-fields -o " + format + " | ambit validate -f -"); output != "2 policies, no mistakes\n" {
			t.Errorf("As %s the policies have mistakes: %s", format, output)
		}
	}
	stop() // what scaling the Deployment does
	if output := r.sh(steps[1]); !strings.Contains(output, "2 policies cleaned up: nothing is left\n") {
		t.Errorf("ambit cleanup says\n%s", output)
	}
	r.sh("ambit leftovers")
	if output := r.sh(steps[2]); strings.Count(output, "\n") < 4 || !strings.Contains(output, "ambit-memcached") {
		t.Errorf("The rights of both policies go:\n%s", output)
	}
	r.sh(steps[3])
	r.sh("kubectl get memcached cache -n team-a && kubectl get configmap original -n team-a")
	if left := r.sh(`kubectl get deployment,role,rolebinding -n team-a -o name; kubectl get configmap copy -n team-b --ignore-not-found -o name
		kubectl get clusterrole,clusterrolebinding,namespace,crd -o name | grep ambit || true`); left != "" {
		t.Errorf("There is still\n%s", left)
	}
}
