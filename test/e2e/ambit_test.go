package e2e

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/go-logr/logr/testr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/manager"
	"github.com/ambit-dev/ambit/pkg/policy"
)

// ambit is a running Ambit with metrics of its own.
type ambit struct {
	*world
	metrics *prometheus.Registry
	stop    func() // may be called more than once
}

// runMeasured is run, with metrics.
func (w *world) runMeasured(namespaces []string, programs ...*policy.Program) *ambit {
	w.t.Helper()
	a := &ambit{world: w, metrics: prometheus.NewRegistry()}
	ctx, cancel := context.WithCancel(context.Background())
	done, stopped := make(chan error, 1), false
	o := manager.Options{
		Config: w.control.User(w.user), Programs: programs, Namespaces: namespaces,
		Logger: testr.NewWithOptions(w.t, testr.Options{}), Metrics: a.metrics,
	}
	go func() { done <- manager.Run(ctx, o) }()
	a.stop = func() {
		cancel()
		if stopped {
			return
		}
		stopped = true
		if err := <-done; err != nil {
			w.t.Errorf("running Ambit: %v", err)
		}
	}
	w.t.Cleanup(a.stop)
	return a
}

// denied returns what the metrics say is denied in a namespace, sorted, as in
// "ambit-system/memcached: list pods".
func (a *ambit) denied(namespace string) ([]string, error) {
	families, err := a.metrics.Gather()
	if err != nil {
		return nil, err
	}
	found := []string{}
	for _, family := range families {
		if family.GetName() != "ambit_denied" {
			continue
		}
		for _, m := range family.GetMetric() {
			label := map[string]string{}
			for _, pair := range m.GetLabel() {
				label[pair.GetName()] = pair.GetValue()
			}
			if m.GetGauge().GetValue() == 1 && label["namespace"] == namespace {
				found = append(found, fmt.Sprintf("%s: %s %s", label["policy"], label["verb"], label["resource"]))
			}
		}
	}
	slices.Sort(found)
	return found, nil
}

// deniesOnly waits until the metrics say that exactly this is denied.
func (w *world) deniesOnly(a *ambit, namespace string, want ...string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("the metrics say that %q is denied in namespace %q", want, namespace), func(context.Context) error {
		got, err := a.denied(namespace)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(append([]string{}, want...), got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

// memcachedStory takes an owner through all that the Memcached policy may have to
// do, so that every verb of its rights on children is used.
func (w *world) memcachedStory(t *testing.T, namespace, name string) {
	t.Helper()
	owner := w.createOwner(namespace, name, 2)
	w.ready(namespace, name, 2)
	w.resize(namespace, name, 1)
	w.ready(namespace, name, 1)
	w.loseLabel(namespace, name)
	w.labelled(namespace, name)
	w.loseDeployment(namespace, name)
	w.ready(namespace, name, 1)
	w.leaveOver(namespace, owner.GetName(), "leftover")
	w.gone(namespace, "leftover")
	w.ready(namespace, name, 1)
	w.deleteOwner(namespace, name)
	w.gone(namespace, name)
}

// loseLabel takes away the label by which Ambit finds a Deployment: it is met
// when it is made again, and looked at by name.
func (w *world) loseLabel(namespace, name string) {
	w.t.Helper()
	w.patchDeployment(w.t, namespace, name, fmt.Sprintf(`{"metadata":{"labels":{%q:null}}}`, v1alpha1.LabelPolicy))
}

func (w *world) labelled(namespace, name string) {
	w.t.Helper()
	w.eventually(fmt.Sprintf("Deployment %s/%s has its label", namespace, name), func(ctx context.Context) error {
		d, err := w.typed.AppsV1().Deployments(namespace).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !strings.HasSuffix(d.Labels[v1alpha1.LabelPolicy], ".memcached") {
			err = fmt.Errorf("its labels are %v", d.Labels)
		}
		return err
	})
}

func (w *world) loseDeployment(namespace, name string) {
	w.t.Helper()
	if err := w.typed.AppsV1().Deployments(namespace).Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatalf("deleting Deployment %s/%s: %v", namespace, name, err)
	}
}

// leaveOver makes a Deployment that is the owner's by all signs, and that the
// policy does not want.
func (w *world) leaveOver(namespace, owner, name string) {
	w.t.Helper()
	object, err := w.owner(w.t.Context(), namespace, owner)
	if err != nil {
		w.t.Fatal(err)
	}
	labels := ambitLabels(string(object.GetUID()))
	labels[v1alpha1.LabelPolicy] = w.deployment(namespace, owner).Labels[v1alpha1.LabelPolicy] // wherever the policy stands
	w.foreignDeployment(w.t, namespace, name, foreignCase{labels: labels, owners: controllerRef(owner, object.GetUID())})
}
