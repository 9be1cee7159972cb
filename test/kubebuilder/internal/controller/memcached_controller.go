// Package controller reconciles Memcacheds: each has a Deployment, and says in its condition Available how that is.
package controller

import (
	"context"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/log"

	cachev1alpha1 "github.com/ambit-dev/ambit/test/kubebuilder/api/v1alpha1"
)

// ConditionAvailable is the type of the condition that is True while all servers of a Memcached are available.
const ConditionAvailable = "Available"

// MemcachedReconciler reconciles Memcacheds. Both fields are those of the manager, and must be set.
type MemcachedReconciler struct {
	client.Client
	Scheme *runtime.Scheme
}

// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds,verbs=get;list;watch;create;update;patch;delete
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/status,verbs=get;update;patch
// +kubebuilder:rbac:groups=cache.example.com,resources=memcacheds/finalizers,verbs=update
// +kubebuilder:rbac:groups=apps,resources=deployments,verbs=get;list;watch;create;update;patch;delete

// Reconcile makes the Deployment of one Memcached what the spec says, and writes the status if that has changed.
func (r *MemcachedReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	memcached := &cachev1alpha1.Memcached{}
	if err := r.Get(ctx, request.NamespacedName, memcached); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: memcached.Namespace, Name: memcached.Name}}
	done, err := controllerutil.CreateOrUpdate(ctx, r.Client, deployment, func() error {
		shape(deployment, memcached)
		return controllerutil.SetControllerReference(memcached, deployment, r.Scheme)
	})
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the Deployment: %w", err)
	}
	if done != controllerutil.OperationResultNone {
		log.FromContext(ctx).Info("wrote the Deployment", "operation", done)
	}
	if !meta.SetStatusCondition(&memcached.Status.Conditions, available(memcached, deployment)) {
		return ctrl.Result{}, nil
	}
	if err := r.Status().Update(ctx, memcached); err != nil {
		return ctrl.Result{}, fmt.Errorf("writing the status: %w", err)
	}
	return ctrl.Result{}, nil
}

// shape sets in a Deployment what the operator decides on, and leaves what the API server has filled in.
func shape(deployment *appsv1.Deployment, memcached *cachev1alpha1.Memcached) {
	labels := map[string]string{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": memcached.Name}
	spec := &deployment.Spec
	spec.Replicas = &memcached.Spec.Size
	spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	spec.Template.Labels = labels
	if len(spec.Template.Spec.Containers) != 1 {
		spec.Template.Spec.Containers = make([]corev1.Container, 1)
	}
	container := &spec.Template.Spec.Containers[0]
	container.Name, container.Image = "memcached", "memcached:1.6.26-alpine3.19"
}

// available is the condition that a Memcached has with its Deployment.
func available(memcached *cachev1alpha1.Memcached, deployment *appsv1.Deployment) metav1.Condition {
	condition := metav1.Condition{
		Type: ConditionAvailable, Status: metav1.ConditionFalse, Reason: "Progressing", ObservedGeneration: memcached.Generation,
		Message: fmt.Sprintf("%d of %d servers available", deployment.Status.AvailableReplicas, memcached.Spec.Size),
	}
	if deployment.Status.AvailableReplicas == memcached.Spec.Size {
		condition.Status, condition.Reason = metav1.ConditionTrue, "Complete"
	}
	return condition
}

// SetupWithManager gives the manager a controller of Memcacheds that also looks at their Deployments.
func (r *MemcachedReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&cachev1alpha1.Memcached{}).
		Owns(&appsv1.Deployment{}).
		Named("memcached").
		Complete(r)
}
