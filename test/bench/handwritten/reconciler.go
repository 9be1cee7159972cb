package main

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

// reconciler makes the Deployment of a Memcached and writes its status. Safe for
// concurrent use.
type reconciler struct {
	client client.Client
	frugal bool
}

// setUp registers the reconciler with the manager.
func (r *reconciler) setUp(mgr ctrl.Manager, workers int) error {
	var forOptions []builder.ForOption
	if r.frugal {
		forOptions = append(forOptions, builder.WithPredicates(predicate.GenerationChangedPredicate{}))
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&memcached.Memcached{}, forOptions...).
		Owns(&appsv1.Deployment{}).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(ownerOfPod)).
		WithOptions(controller.Options{MaxConcurrentReconciles: workers}).
		Complete(r)
}

// ownerOfPod leads from a Pod to the Memcached that its label names.
func ownerOfPod(_ context.Context, pod client.Object) []ctrl.Request {
	name := pod.GetLabels()[memcached.LabelInstance]
	if name == "" {
		return nil
	}
	return []ctrl.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: name}}}
}

// Reconcile brings one Memcached to what its spec says.
func (r *reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	m := &memcached.Memcached{}
	if err := r.client.Get(ctx, req.NamespacedName, m); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !m.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	deployment, err := r.applyDeployment(ctx, m)
	if err != nil {
		return ctrl.Result{}, err
	}
	pods := &corev1.PodList{}
	if err := r.client.List(ctx, pods, client.InNamespace(m.Namespace), client.MatchingLabels(memcached.Labels(m.Name))); err != nil {
		return ctrl.Result{}, fmt.Errorf("listing pods of %q: %w", req, err)
	}
	return ctrl.Result{}, r.patchStatus(ctx, m, deployment, pods.Items)
}

// applyDeployment creates or updates the Deployment, and returns it as it is then.
func (r *reconciler) applyDeployment(ctx context.Context, m *memcached.Memcached) (*appsv1.Deployment, error) {
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: m.Namespace, Name: m.Name}}
	_, err := controllerutil.CreateOrUpdate(ctx, r.client, d, func() error {
		memcached.SetDeployment(d, m)
		return controllerutil.SetControllerReference(m, d, r.client.Scheme())
	})
	if err != nil {
		return nil, fmt.Errorf("applying deployment %q: %w", m.Name, err)
	}
	return d, nil
}

// patchStatus writes the status.
func (r *reconciler) patchStatus(ctx context.Context, m *memcached.Memcached, d *appsv1.Deployment, pods []corev1.Pod) error {
	before := m.DeepCopy()
	changed := memcached.SetStatus(m, d, pods)
	if r.frugal && !changed {
		return nil
	}
	if err := r.client.Status().Patch(ctx, m, client.MergeFrom(before)); err != nil {
		return client.IgnoreNotFound(fmt.Errorf("patching status of %q: %w", m.Name, err))
	}
	return nil
}
