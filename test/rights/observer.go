package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
)

// place is what is known of the owner in a namespace, and of its Deployment;
// there is at most one of each.
type place struct {
	// owner: it is there. deployed: its Deployment is.
	owner, deployed bool
	// verdict is what the owner's status says.
	verdict verdict
}

// verdict is what an owner's status says of Ambit's rights.
type verdict string

// The verdicts.
const (
	unsaid    verdict = ""
	denied    verdict = "denied"
	permitted verdict = "permitted"
)

// observer follows the owners and Deployments of all namespaces. Safe for
// concurrent use.
type observer struct {
	mu sync.Mutex // guards all below
	// places are by namespace; without those where nothing is.
	places map[string]place
	// changed is closed, and replaced, when something has changed.
	changed chan struct{}
	// err is why a watch ended; nil while both run.
	err error
}

func newObserver() *observer {
	return &observer{places: map[string]place{}, changed: make(chan struct{})}
}

// see takes in an event.
func (o *observer) see(event watch.Event) {
	object, ok := event.Object.(*unstructured.Unstructured)
	if !ok {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	namespace := object.GetNamespace()
	if p := o.places[namespace].after(event.Type, object); p != (place{}) {
		o.places[namespace] = p
	} else {
		delete(o.places, namespace)
	}
	o.ringLocked()
}

// after returns the place as it is after an event of its owner or Deployment.
func (p place) after(event watch.EventType, object *unstructured.Unstructured) place {
	there := event != watch.Deleted
	if object.GetKind() == "Deployment" {
		p.deployed = there
		return p
	}
	p.owner, p.verdict = there, unsaid
	if there {
		p.verdict = verdictOf(object)
	}
	return p
}

// verdictOf reads the status of an owner: its state, which is the policy's, and
// the condition Permitted, which is Ambit's own, have to say the same.
func verdictOf(owner *unstructured.Unstructured) verdict {
	state, _, _ := unstructured.NestedString(owner.Object, "status", "state", "status")
	conditions, _, _ := unstructured.NestedSlice(owner.Object, "status", "conditions")
	for _, item := range conditions {
		c, ok := item.(map[string]any)
		switch {
		case !ok || c["type"] != "Permitted":
		case c["status"] == "False" && state == "Failed":
			return denied
		case c["status"] == "True" && state != "Failed" && state != "":
			return permitted
		}
	}
	return unsaid
}

func (o *observer) ringLocked() {
	close(o.changed)
	o.changed = make(chan struct{})
}

// look returns what is known of a namespace, and what to wait for before looking
// again.
func (o *observer) look(namespace string) (place, <-chan struct{}, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.places[namespace], o.changed, o.err
}

// until waits until the condition holds for a namespace, and returns when that
// was seen. The error names what was waited for.
func (o *observer) until(ctx context.Context, namespace, what string, holds func(place) bool) (time.Time, error) {
	for {
		p, changed, err := o.look(namespace)
		if err != nil {
			return time.Time{}, err
		}
		if holds(p) {
			return time.Now(), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting until in namespace %q %s (now %+v): %w", namespace, what, p, context.Cause(ctx))
		}
	}
}

// follow sees the events of a collection until ctx ends. It blocks.
func (o *observer) follow(ctx context.Context, collection dynamic.ResourceInterface) {
	err := o.stream(ctx, collection)
	if ctx.Err() != nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err = fmt.Errorf("watching: %w", err)
	o.ringLocked()
}

// stream sees the events of one watch, which is to outlast the measurement.
func (o *observer) stream(ctx context.Context, collection dynamic.ResourceInterface) error {
	seconds := int64(24 * 60 * 60)
	w, err := collection.Watch(ctx, metav1.ListOptions{TimeoutSeconds: &seconds})
	if err != nil {
		return err
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		if event.Type == watch.Error {
			return fmt.Errorf("%v", event.Object)
		}
		o.see(event)
	}
	return errors.New("the server ended the watch")
}
