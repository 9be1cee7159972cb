package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/freeport"
)

const canaryUser = "canary"

// canary is what must not get out. It is no number, so that expressions fail at it.
const canary = "dQw4-canary-9WgX"

// canaryPolicy copies a Secret, one that the API server refuses too, has one written in it,
// and has expressions that fail at what the Secret holds, and at what is written in them.
const canaryPolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: canary, namespace: ambit-system}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  variables:
    - {name: password, expression: "secrets[0].data.password"}
    - {name: none, expression: "secrets[0].data.?none.orValue('')"}
  watches:
    - {id: secrets, apiVersion: v1, kind: Secret, selector: {matchLabels: {canary: "true"}}}
  children:
    - id: copy
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: "${owner.metadata.name}-copy"}
        data: {password: "${password}"}
    - id: refused
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: "${owner.metadata.name}-refused", labels: {bad: "${password + '!'}"}}
        data: {password: "${password}"}
    - id: number
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-number"}
        data: {number: "${string(int(password))}"}
    - id: time
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-time"}
        data: {time: "${string(timestamp(password))}"}
    - id: literal
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: "${owner.metadata.name}-literal"}
        stringData: {password: "` + canary + `"}
    - id: written
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-written"}
        data: {ip: "${string(ip(none == '' ? '` + canary + `' : none))}"}
    - id: notList
      forEach: {as: element, in: "password == '' ? [] : dyn(password)"}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-${element}"}
    - id: twice
      forEach: {as: element, in: "[password, password]"}
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-twice"}
    - id: place
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-place", namespace: "${[password]}"}
    - id: drift
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-drift"}
        data: {password: "${password}"}
    - id: key
      template:
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: "${owner.metadata.name}-key"}
        data: {key: "${secrets[0].data[password]}"}
  conditions:
    - {type: NoBool, status: "password"}
    - {type: NoWord, status: "true", reason: "password"}
`

// TestManagerCanary: what a Secret holds is in no log, however verbose, no event, no
// status, no metric and no trace.
func TestManagerCanary(t *testing.T) {
	t.Parallel()
	c := newCanary(t)
	c.start()
	c.eventually("the copy is made", func(ctx context.Context) error {
		copied, err := c.typed.CoreV1().Secrets(c.namespace).Get(ctx, "one-copy", metav1.GetOptions{})
		if err == nil && string(copied.Data["password"]) != canary {
			err = fmt.Errorf("it holds something else")
		}
		return err
	})
	c.condition(c.namespace, "one", "Ready", "False", "")
	c.drift()
	c.forbidden()
	c.cmd.Process.Signal(syscall.SIGTERM)
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("ambit stops with %v", err)
	}
	for what, text := range map[string]string{"the log": c.out.String(), "traces": c.traces.String()} {
		c.isClean(what, text)
		if len(text) < 1000 {
			t.Errorf("there is next to nothing in %s: %s", what, text)
		}
	}
}

// canaryWorld is a namespace with a Secret and an owner.
type canaryWorld struct {
	*world
	namespace string
	metrics   string // address
	out       *lockedBuffer
	traces    *lockedBuffer
	cmd       *exec.Cmd
}

func newCanary(t *testing.T) *canaryWorld {
	t.Helper()
	c := &canaryWorld{world: newWorld(t, canaryUser), metrics: freeport.ForTest(t), out: &lockedBuffer{}, traces: &lockedBuffer{}}
	c.namespace = c.world.namespace(
		rbacv1.PolicyRule{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds"}, Verbs: []string{"list", "watch"}},
		rbacv1.PolicyRule{APIGroups: []string{"cache.example.com"}, Resources: []string{"memcacheds/status"}, Verbs: []string{"patch"}},
		rightsTo("", "secrets", "configmaps"),
	)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "source", Labels: map[string]string{"canary": "true"}},
		StringData: map[string]string{"password": canary},
	}
	if _, err := c.typed.CoreV1().Secrets(c.namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.createOwner(c.namespace, "one", 1)
	return c
}

// start starts ambit with all that says something.
func (c *canaryWorld) start() {
	c.t.Helper()
	folder := c.t.TempDir()
	policy, kubeconfig := filepath.Join(folder, "canary.yaml"), filepath.Join(folder, "kubeconfig")
	if err := os.WriteFile(policy, []byte(canaryPolicy), 0o600); err != nil {
		c.t.Fatal(err)
	}
	if err := c.control.Kubeconfig(c.control.User(c.user), kubeconfig); err != nil {
		c.t.Fatal(err)
	}
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(c.traces, r.Body) // a part of it is enough
	}))
	c.t.Cleanup(collector.Close)
	c.cmd = exec.Command(buildAmbit(c.t), "run", "-f", policy, "--namespaces", c.namespace, "--kubeconfig", kubeconfig,
		"--zap-log-level=10", "--metrics-secure=false", "--metrics-bind-address", c.metrics)
	c.cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+collector.URL)
	c.cmd.Stdout, c.cmd.Stderr = c.out, c.out
	if err := c.cmd.Start(); err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() {
		_ = c.cmd.Process.Kill() // it may have ended
		if said := c.out.String(); c.t.Failed() {
			c.t.Logf("ambit said, at the end:\n%s", said[max(0, len(said)-6000):])
		}
	})
}

// drift has somebody change what holds the canary, and waits until it is undone.
func (c *canaryWorld) drift() {
	c.t.Helper()
	drifted := func(ctx context.Context) (string, error) {
		found, err := c.typed.CoreV1().ConfigMaps(c.namespace).Get(ctx, "one-drift", metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		return found.Data["password"], nil
	}
	var made string
	c.eventually("the ConfigMap is made", func(ctx context.Context) (err error) {
		made, err = drifted(ctx)
		return err
	})
	patch := []byte(`{"data":{"password":"` + canary + `"}}`)
	if _, err := c.typed.CoreV1().ConfigMaps(c.namespace).Patch(c.t.Context(), "one-drift", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.eventually("it is as it was", func(ctx context.Context) error {
		got, err := drifted(ctx)
		if err == nil && got != made {
			err = fmt.Errorf("it holds something else")
		}
		return err
	})
}

// isClean fails the story if the canary is in a text, as it is or encoded.
func (c *canaryWorld) isClean(what, text string) {
	c.t.Helper()
	for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
		if at := strings.Index(text, form); at >= 0 {
			c.t.Errorf("%s shows what a Secret holds: ...%s...", what, text[max(0, at-300):min(len(text), at+100)])
		}
	}
}

// forbidden looks at what is seen from outside.
func (c *canaryWorld) forbidden() {
	c.t.Helper()
	owner, err := c.owner(c.t.Context(), c.namespace, "one")
	if err != nil {
		c.t.Fatal(err)
	}
	status, err := json.Marshal(owner.Object)
	if err != nil {
		c.t.Fatal(err)
	}
	c.isClean("the owner", string(status))
	events, err := c.typed.EventsV1().Events(c.namespace).List(c.t.Context(), metav1.ListOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		c.t.Fatal(err)
	}
	c.isClean("events", fmt.Sprint(events.Items))
	response, err := http.Get("http://" + c.metrics + "/metrics")
	if err != nil {
		c.t.Fatal(err)
	}
	defer response.Body.Close()
	metrics, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	c.isClean("metrics", string(metrics))
	if !strings.Contains(string(metrics), "ambit_applies_total") {
		c.t.Error("the metrics do not show what was done")
	}
}
