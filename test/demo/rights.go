package main

import (
	"bytes"
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deniedSize is the size of the Memcached in namespaceDenied.
const deniedSize = 2

func (d *demo) createDenied(ctx context.Context) error {
	document := fmt.Sprintf("{apiVersion: cache.example.com/v1alpha1, kind: Memcached, metadata: {name: %s, namespace: %s}, spec: {size: %d}}",
		ownerName, namespaceDenied, deniedSize)
	began := time.Now()
	d.command("kubectl apply -f - <<< '%s'", document)
	if err := d.control.Apply(ctx, []byte(document)); err != nil {
		return err
	}
	return d.untilDenied(ctx, began)
}

// untilDenied waits until the Memcached in namespaceDenied says that Ambit is not
// permitted to serve it, and until Ambit watches nothing there; it shows the
// status. Times are told from began.
func (d *demo) untilDenied(ctx context.Context, began time.Time) error {
	what := fmt.Sprintf("Memcached %s/%s says that Ambit is not permitted to serve it", namespaceDenied, ownerName)
	if err := until(ctx, d.owners(namespaceDenied), what, func(s seen) bool { return isDenied(s[ownerName]) }); err != nil {
		return err
	}
	d.say("%s (%s)", what, seconds(time.Since(began)))
	if err := d.untilStreams(ctx, namespaceOne, namespaceTwo); err != nil {
		return err
	}
	d.say("Ambit has no watch open in %s (%s)", namespaceDenied, seconds(time.Since(began)))
	return d.showStatus(ctx, namespaceDenied)
}

// isDenied says whether a Memcached tells that rights are missing.
func isDenied(owner *unstructured.Unstructured) bool {
	return owner != nil && isObserved(owner) && text(owner, "status", "state", "status") == "Failed" &&
		conditionIs(owner, "Permitted", "False") && conditionIs(owner, "Stalled", "True") && conditionIs(owner, "Ready", "False")
}

// grantMissing applies what `ambit rbac --missing` prints, and waits until the
// Memcached in namespaceDenied is served.
func (d *demo) grantMissing(ctx context.Context) error {
	args := []string{"rbac", "-f", policyFile, "--missing"}
	d.command("ambit %s | kubectl apply -f -", strings.Join(args, " "))
	rules, err := output(ctx, nil, ambitBinary, append(args, "--kubeconfig", d.adminConfig)...)
	if err != nil {
		return err
	}
	d.showRules(string(rules))
	began := time.Now()
	if err := d.applyRules(ctx, rules); err != nil {
		return err
	}
	if err := d.untilServed(ctx, namespaceDenied, deniedSize, began); err != nil {
		return err
	}
	return d.untilStreams(ctx, namespaces()...)
}

// showRules shows what `ambit rbac` prints, once.
func (d *demo) showRules(rules string) {
	if rules == d.rules {
		d.say("ambit prints the same as before.")
		return
	}
	d.rules = rules
	d.say("ambit prints")
	d.show(rules)
}

// applyRules pipes rules into kubectl; where there is none, it applies them
// itself and says so.
func (d *demo) applyRules(ctx context.Context, rules []byte) error {
	kubectl, err := exec.LookPath("kubectl")
	if err != nil {
		d.say("There is no kubectl here: the demo itself applies this, by server-side apply.")
		return d.control.Apply(ctx, rules)
	}
	said, err := output(ctx, rules, kubectl, "--kubeconfig", d.adminConfig, "--cache-dir", filepath.Join(d.folder, "kubectl"), "apply", "-f", "-")
	if err != nil {
		return err
	}
	d.say("kubectl prints")
	d.show(string(said))
	return nil
}

func (d *demo) revoke(ctx context.Context) error {
	before, err := d.deployments(namespaceDenied).Get(ctx, ownerName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Deployment: %w", err)
	}
	began := time.Now()
	d.command("kubectl delete rolebinding %s -n %s", bindingName, namespaceDenied)
	if err := d.typed.RbacV1().RoleBindings(namespaceDenied).Delete(ctx, bindingName, metav1.DeleteOptions{}); err != nil {
		return fmt.Errorf("deleting the RoleBinding: %w", err)
	}
	if err := d.untilDenied(ctx, began); err != nil {
		return err
	}
	after, err := d.deployments(namespaceDenied).Get(ctx, ownerName, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading the Deployment: %w", err)
	}
	if after.GetUID() != before.GetUID() || after.GetGeneration() != before.GetGeneration() {
		return fmt.Errorf("looking at Deployment %s/%s: it was changed without the right to do so", namespaceDenied, ownerName)
	}
	d.say("Its Deployment and Pods run on, untouched.")
	return nil
}

// output runs a program to its end, with stdin, and returns its stdout. The error
// has its stderr.
func output(ctx context.Context, stdin []byte, program string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdin, cmd.Env = bytes.NewReader(stdin), environment()
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("running %q: %w: %s", strings.Join(cmd.Args, " "), err, stderr.String())
	}
	return out, nil
}
