package faultplan

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/sim"
)

// What actions do to a world, where it takes more than a request.

var (
	getOptions    = metav1.GetOptions{}
	updateOptions = metav1.UpdateOptions{FieldManager: "user"}
)

// disturbed is for how long after a disturbance one process may see less than another.
const disturbed = 90 * time.Second

// later does something after a while; the plan is not over before.
func (w *World) later(pause time.Duration, do func(*World)) {
	w.pending.Go(func() {
		time.Sleep(pause)
		do(w)
	})
}

func (w *World) arm(a answer) {
	w.judge.disturbedUntil(time.Now().Add(a.delay + disturbed))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers = append(w.answers, a)
}

func (w *World) disturb(resource string, d disturbance) {
	w.judge.disturbedUntil(time.Now().Add(d.lag + disturbed))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.disturbed[resource] = d
}

// heal takes all disturbances away: what is to come is as it should be.
func (w *World) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.answers, w.webhooks = nil, nil
	clear(w.disturbed)
}

// streamOf decides for each event of a stream.
func (w *World) streamOf(r sim.Request) sim.Stream {
	return func(watch.EventType, uint64) sim.Delivery {
		w.mu.Lock()
		defer w.mu.Unlock()
		d, ok := w.disturbed[r.Resource.Resource]
		if !ok || d.process != "" && d.process != r.Process {
			return sim.Delivery{}
		}
		if d.end || d.expire {
			delete(w.disturbed, r.Resource.Resource)
			return sim.Delivery{End: d.end, Expire: d.expire}
		}
		if time.Now().After(d.until) {
			return sim.Delivery{}
		}
		return sim.Delivery{Lag: d.lag}
	}
}

// setPolicy has all processes go to a version of the policy.
func (w *World) setPolicy(version int) {
	w.editing.Lock()
	defer w.editing.Unlock()
	programs := w.plan.Scenario.Versions[version : version+1]
	w.mu.Lock()
	w.programs, w.edited = programs, true
	w.recallLocked(programs[0])
	w.mu.Unlock()
	w.each(func(p *process) { p.engine.Set(programs, nil) })
}

// replaceNamespace deletes a namespace and makes it again, with its rights, as soon as it
// is gone.
func (w *World) replaceNamespace(namespace string) {
	again := w.read(namespaces, "", namespace)
	if w.plan.Scenario.Holds && again != nil {
		w.create(clusterRoleBindings, bindingMeanwhile(namespace))
	}
	w.delete(namespaces, "", namespace)
	if again == nil {
		return
	}
	fresh := object(`{apiVersion: v1, kind: Namespace, metadata: {name: %s}}`, namespace)
	fresh.SetLabels(again.GetLabels())
	w.later(time.Second, func(w *World) {
		if w.awaitGone(namespaces, again) {
			w.create(namespaces, fresh)
			w.create(roleBindings, bindingIn(namespace))
			if w.plan.Scenario.Holds {
				w.delete(clusterRoleBindings, "", bindingMeanwhile(namespace).GetName())
			}
		}
	})
}

func (w *World) read(resource schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	obj, err := w.admin.Resource(resource).Namespace(namespace).Get(context.Background(), name, getOptions)
	if err != nil {
		if !apierrors.IsNotFound(err) {
			w.problem("reading %s: %v", resource.Resource, err)
		}
		return nil
	}
	return obj
}

// keepOwn gives an object the labels and annotations that a user wrote on another, and
// leaves it those of Ambit.
func keepOwn(now, next *unstructured.Unstructured) {
	now.SetLabels(next.GetLabels())
	annotations := next.GetAnnotations()
	for key, value := range now.GetAnnotations() {
		if v1alpha1.IsReservedKey(key) {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations[key] = value
		}
	}
	now.SetAnnotations(annotations)
}
