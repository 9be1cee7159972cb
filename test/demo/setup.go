package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/test/cluster"
)

func (d *demo) startControlPlane(ctx context.Context) error {
	var err error
	if d.control, err = cluster.Start(ctx, cluster.Options{Audit: true, CRDs: []string{exampleFiles + "crd.yaml"}}); err != nil {
		return err
	}
	if d.objects, err = dynamic.NewForConfig(d.control.Admin()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	if d.typed, err = kubernetes.NewForConfig(d.control.Admin()); err != nil {
		return fmt.Errorf("making a client: %w", err)
	}
	d.adminConfig = filepath.Join(d.folder, "admin.kubeconfig")
	if err := d.control.Kubeconfig(d.control.Admin(), d.adminConfig); err != nil {
		return err
	}
	version, err := d.typed.Discovery().ServerVersion()
	if err != nil {
		return fmt.Errorf("asking for the version: %w", err)
	}
	d.say("Kubernetes %s answers at %s.", version.GitVersion, d.control.Admin().Host)
	d.say("%s is there from the start: Kubernetes' garbage collector looks for new kinds every 30 s only.", exampleFiles+"crd.yaml")
	return nil
}

func (d *demo) install(ctx context.Context) error {
	for _, name := range namespaces() {
		d.command("kubectl create namespace %s", name)
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
		if _, err := d.typed.CoreV1().Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("creating namespace %q: %w", name, err)
		}
	}
	if err := d.apply(ctx, "rbac.yaml"); err != nil {
		return err
	}
	d.say("ServiceAccount %s/%s may watch Memcacheds and patch their status everywhere.", accountNamespace, accountName)
	d.say("It may work with Deployments and Pods in %s and %s only. It sees no Role and no RoleBinding.", namespaceOne, namespaceTwo)
	return nil
}

// apply installs one of the example's files.
func (d *demo) apply(ctx context.Context, name string) error {
	d.command("kubectl apply -f %s", exampleFiles+name)
	data, err := os.ReadFile(exampleFiles + name)
	if err != nil {
		return err
	}
	return d.control.Apply(ctx, data)
}

func (d *demo) runAmbit(ctx context.Context) error {
	config, err := d.control.ServiceAccount(ctx, accountNamespace, accountName)
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(d.folder, "ambit.kubeconfig")
	if err := d.control.Kubeconfig(config, kubeconfig); err != nil {
		return err
	}
	d.command("ambit run -f %s", policyFile)
	d.ambit, err = startAmbit(func() { d.fail(errAmbitEnded) }, "run", "-f", policyFile, "--kubeconfig", kubeconfig)
	if err != nil {
		return err
	}
	if err := d.untilStreams(ctx); err != nil {
		return err
	}
	d.say("It watches Memcacheds everywhere and nothing else: there is no Memcached yet.")
	return nil
}

func (d *demo) stopAmbit(ctx context.Context) error {
	p := d.ambit
	d.ambit = nil
	d.command("kill -TERM %d", p.cmd.Process.Pid)
	if err := p.stop(stopPatience); err != nil {
		return fmt.Errorf("stopping ambit: %w", err)
	}
	d.say("It ended with exit code 0.")
	if err := d.untilNoStreams(ctx); err != nil {
		return err
	}
	return d.count()
}
