package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/ambit-dev/ambit/test/cluster"
)

// What the demo is about, relative to the root of the repository.
const (
	ambitBinary  = "bin/ambit"
	policyFile   = "policies/memcached.yaml"
	exampleFiles = "examples/memcached/"

	namespaceOne    = "allowed-one"
	namespaceTwo    = "allowed-two"
	namespaceDenied = "denied"
	ownerName       = "cache"

	accountNamespace = "ambit-system"
	accountName      = "ambit"
	accountUser      = "system:serviceaccount:" + accountNamespace + ":" + accountName
	bindingName      = "ambit-memcached"

	// stopPatience is how long Ambit may take to end after SIGTERM.
	stopPatience = 10 * time.Second
)

// demo is what the steps share. The first steps fill it.
type demo struct {
	narrator
	control *cluster.Cluster
	objects dynamic.Interface
	typed   kubernetes.Interface
	ambit   *ambitProcess
	// adminConfig is the administrator's kubeconfig.
	adminConfig string
	// rules are what `ambit rbac` printed last.
	rules string
	// folder is for files that are gone after the demo.
	folder string
	// fail ends the step that is under way.
	fail context.CancelCauseFunc
}

// step is one thing that the demo shows.
type step struct {
	title string
	run   func(*demo, context.Context) error
}

// steps is the whole demo, in order.
func steps() []step {
	return []step{
		{"Start a control plane (etcd, kube-apiserver, kube-controller-manager, kube-scheduler, KWOK) with the kind Memcached", (*demo).startControlPlane},
		{"Make three namespaces, and give Ambit its rights in two of them", (*demo).install},
		{"Run bin/ambit as " + accountUser, (*demo).runAmbit},
		{"Create a Memcached of size 2 in " + namespaceOne + " and one of size 3 in " + namespaceTwo, (*demo).createOwners},
		{"Scale a Deployment by hand", (*demo).scaleByHand},
		{"Delete a Deployment by hand", (*demo).deleteByHand},
		{"Create a Memcached in " + namespaceDenied + ", where Ambit may do nothing", (*demo).createDenied},
		{"Meanwhile change the size of the others", (*demo).resizeOwners},
		{"Grant what is missing", (*demo).grantMissing},
		{"Take it away again", (*demo).revoke},
		{"Grant it again", (*demo).grantMissing},
		{"Delete all Memcacheds", (*demo).deleteOwners},
		{"Stop Ambit", (*demo).stopAmbit},
	}
}

// namespaces are those that get a Memcached.
func namespaces() []string { return []string{namespaceOne, namespaceTwo, namespaceDenied} }

// errAmbitEnded ends the step that is under way when Ambit does.
var errAmbitEnded = errors.New("ambit has ended by itself")

// play runs the steps; each may take so long.
func (d *demo) play(ctx context.Context, deadline time.Duration) error {
	ctx, d.fail = context.WithCancelCause(ctx)
	defer d.fail(nil)
	for i, s := range steps() {
		d.title(i+1, s.title)
		began := time.Now()
		stepCtx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("it did not happen within %s", deadline))
		err := s.run(d, stepCtx)
		cancel()
		if err != nil {
			return fmt.Errorf("step %d: %w", i+1, err)
		}
		d.took(time.Since(began))
	}
	return nil
}

// confess shows what is known after something went wrong: the Memcacheds, and
// the end of Ambit's log.
func (d *demo) confess(ctx context.Context) {
	if d.ambit == nil {
		return
	}
	fmt.Fprintln(d.out, "\nWhat the Memcacheds say:")
	for _, namespace := range namespaces() {
		if err := d.showStatus(ctx, namespace); err != nil {
			d.say("%v", err)
		}
	}
	fmt.Fprintln(d.out, "\nThe end of ambit's log:")
	d.show(d.ambit.log.tail(40))
}

// close ends what is still running.
func (d *demo) close() error {
	var errs []error
	if d.ambit != nil {
		errs = append(errs, d.ambit.stop(stopPatience))
	}
	if d.control != nil {
		errs = append(errs, d.control.Stop())
	}
	return errors.Join(append(errs, os.RemoveAll(d.folder))...)
}

func (d *demo) owners(namespace string) dynamic.ResourceInterface {
	return d.objects.Resource(schema.GroupVersionResource{Group: "cache.example.com", Version: "v1alpha1", Resource: "memcacheds"}).Namespace(namespace)
}

func (d *demo) deployments(namespace string) dynamic.ResourceInterface {
	return d.objects.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace(namespace)
}

func (d *demo) pods(namespace string) dynamic.ResourceInterface {
	return d.objects.Resource(schema.GroupVersionResource{Version: "v1", Resource: "pods"}).Namespace(namespace)
}
