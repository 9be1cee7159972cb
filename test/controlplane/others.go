package main

import (
	"context"
	"fmt"
)

// startOthers makes the kinds of the options, starts the servers that are
// clients of the API server, all at once, and makes the nodes. It returns when the controller manager works and
// the nodes are Ready. The scheduler shows nothing by which it could be awaited;
// Pods wait for it, and its end is noticed as that of all servers.
func (p *plane) startOthers(ctx context.Context) error {
	if err := p.makeKinds(ctx); err != nil {
		return err
	}
	started := map[string]*process{}
	for _, s := range []struct {
		name string
		args []string
	}{
		{controllerManager, controllerManagerArgs()},
		{kwok, []string{"--kubeconfig=kwok.kubeconfig", "--config=kwok.yaml"}},
		{scheduler, []string{
			"--config=scheduler.yaml", "--secure-port=0",
			"--authentication-kubeconfig=kube-scheduler.kubeconfig", "--authorization-kubeconfig=kube-scheduler.kubeconfig",
		}},
	} {
		if !p.options.runs(s.name) {
			continue
		}
		var err error
		if started[s.name], err = p.run(s.name, s.args...); err != nil {
			return err
		}
	}
	if kwok := started[kwok]; kwok != nil {
		if err := p.startNodes(ctx, kwok); err != nil {
			return err
		}
	}
	if manager := started[controllerManager]; manager != nil {
		return manager.await(ctx, func(ctx context.Context) error {
			return p.client.get(ctx, "/api/v1/namespaces/default/serviceaccounts/default", nil)
		})
	}
	return nil
}

// controllerManagerArgs leave out what has no work here: without heartbeats the
// node controller would think that the nodes are lost.
func controllerManagerArgs() []string {
	kubeconfig := controllerManager + ".kubeconfig"
	return []string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--secure-port=0", "--leader-elect=false",
		"--use-service-account-credentials=true", "--service-account-private-key-file=" + serviceAccKey, "--root-ca-file=" + caFile,
		"--kube-api-qps=500", "--kube-api-burst=1000",
		"--concurrent-deployment-syncs=20", "--concurrent-replicaset-syncs=20", "--concurrent-gc-syncs=20",
		"--controllers=*,-node-lifecycle-controller,-persistentvolume-binder-controller,-persistentvolume-attach-detach-controller," +
			"-cloud-node-lifecycle-controller,-node-route-controller,-service-lb-controller",
	}
}

// startNodes makes the nodes and waits until KWOK has made them Ready.
func (p *plane) startNodes(ctx context.Context, kwok *process) error {
	for i := range p.options.nodes {
		if err := p.client.create(ctx, "/api/v1/nodes", node(fmt.Sprintf("node-%d", i))); err != nil {
			return fmt.Errorf("making node %d: %w", i, err)
		}
	}
	return kwok.await(ctx, p.nodesReady)
}

// object is an object of the API.
type object = map[string]any

func node(name string) object {
	resources := object{"cpu": "100k", "memory": "100Ti", "pods": "1M"}
	return object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{
			"name":   name,
			"labels": object{"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
		},
		"status": object{"allocatable": resources, "capacity": resources},
	}
}

func (p *plane) nodesReady(ctx context.Context) error {
	var list struct {
		Items []struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
	}
	if err := p.client.get(ctx, "/api/v1/nodes", &list); err != nil {
		return err
	}
	ready := 0
	for _, item := range list.Items {
		for _, c := range item.Status.Conditions {
			if c.Type == "Ready" && c.Status == "True" {
				ready++
			}
		}
	}
	if ready < p.options.nodes {
		return fmt.Errorf("%d of %d nodes are ready", ready, p.options.nodes)
	}
	return nil
}
