package main

import (
	"context"
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ambit-dev/ambit/pkg/scopedcache"
)

// A Memcached operator that has Roles in some namespaces, and no ClusterRole. Where it may not do its work the
// status says what is missing; when that is granted it goes on.
func main() {
	ctrl.SetLogger(zap.New())
	namespaces := []string{"allowed-one", "allowed-two", "denied"}
	operator, err := newOperator(ctrl.GetConfigOrDie(), namespaces)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := operator.Start(ctrl.SetupSignalHandler()); err != nil {
		fmt.Println(err)
	}
}

func newOperator(config *rest.Config, namespaces []string) (ctrl.Manager, error) {
	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return nil, err
	}
	scheme.AddKnownTypes(groupVersion, &Memcached{}, &MemcachedList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	manager, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:    scheme,
		Metrics:   metricsserver.Options{BindAddress: "0"},
		NewCache:  scopedcache.New(scopedcache.Options{Namespaces: scopedcache.InNamespaces(namespaces...)}),
		NewClient: scopedcache.NewClient,
	})
	if err != nil {
		return nil, err
	}
	r := &reconciler{manager.GetClient()}
	return manager, ctrl.NewControllerManagedBy(manager).
		For(&Memcached{}).
		Owns(&appsv1.Deployment{}).
		WatchesRawSource(scopedcache.Source(manager.GetCache(), r.whoNeeds)).
		Complete(r)
}

type reconciler struct{ client.Client }

// Reconcile makes the Deployment of a Memcached, and says in its status how that goes.
func (r *reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	owner := &Memcached{}
	if err := r.Get(ctx, request.NamespacedName, owner); err != nil {
		if apierrors.IsForbidden(err) {
			err = nil // the source calls again when that has changed
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	deployment, err := r.apply(ctx, owner)
	status := MemcachedStatus{State: State{Status: "Progressing"}}
	switch {
	case apierrors.IsForbidden(err):
		status.State = State{Status: "Failed", Message: err.Error()}
	case err != nil:
		return ctrl.Result{}, err
	case deployment.Status.AvailableReplicas == owner.Spec.Size:
		status.State.Status = "Ready"
		fallthrough
	default:
		status.State.Message = fmt.Sprintf("%d of %d nodes available", deployment.Status.AvailableReplicas, owner.Spec.Size)
	}
	if owner.Status != status {
		owner.Status = status
		return ctrl.Result{}, r.Status().Update(ctx, owner)
	}
	return ctrl.Result{}, nil
}

// apply returns the Deployment as it is to be. It is read from the cache, which shows own writes.
func (r *reconciler) apply(ctx context.Context, owner *Memcached) (*appsv1.Deployment, error) {
	found := &appsv1.Deployment{}
	err := r.Get(ctx, client.ObjectKeyFromObject(owner), found)
	switch {
	case apierrors.IsNotFound(err):
		wanted := deploymentOf(owner)
		return wanted, r.Create(ctx, wanted)
	case err != nil:
		return nil, err
	case !metav1.IsControlledBy(found, owner):
		return nil, fmt.Errorf("the Deployment %q belongs to somebody else", found.Name)
	case *found.Spec.Replicas == owner.Spec.Size:
		return found, nil
	}
	found.Spec.Replicas = &owner.Spec.Size
	return found, r.Update(ctx, found)
}

func deploymentOf(owner *Memcached) *appsv1.Deployment {
	labels := map[string]string{"app.kubernetes.io/name": "memcached", "app.kubernetes.io/instance": owner.Name}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: owner.Namespace, Name: owner.Name, Labels: labels,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(owner, groupVersion.WithKind("Memcached"))},
		},
		Spec: appsv1.DeploymentSpec{
			Replicas: &owner.Spec.Size, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Name: "memcached", Image: "memcached:1.6.26-alpine3.19"}},
			}},
		},
	}
}

// whoNeeds returns the Memcacheds of the namespace where something was lost or came back.
func (r *reconciler) whoNeeds(ctx context.Context, change scopedcache.Change) (requests []reconcile.Request) {
	list := &MemcachedList{}
	if err := r.List(ctx, list, client.InNamespace(change.Namespace)); err != nil {
		return nil // they are told when Memcacheds can be read
	}
	for _, owner := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&owner)})
	}
	return requests
}

var groupVersion = schema.GroupVersion{Group: "cache.example.com", Version: "v1alpha1"}

// Memcached is a set of memcached servers.
type Memcached struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              MemcachedSpec   `json:"spec"`
	Status            MemcachedStatus `json:"status,omitempty"`
}

// MemcachedSpec is how many servers are wanted.
type MemcachedSpec struct {
	Size int32 `json:"size"`
}

// MemcachedStatus is how it fares.
type MemcachedStatus struct {
	State State `json:"state"`
}

// State says in short how a Memcached fares.
type State struct {
	Status  string `json:"status,omitempty"`
	Message string `json:"message,omitempty"`
}

// MemcachedList is a list of Memcacheds.
type MemcachedList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Memcached `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (m *Memcached) DeepCopyObject() runtime.Object {
	copied := *m
	m.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	return &copied
}

// DeepCopyObject implements runtime.Object.
func (m *MemcachedList) DeepCopyObject() runtime.Object {
	copied := *m
	m.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = slices.Clone(m.Items)
	for i := range copied.Items {
		m.Items[i].ObjectMeta.DeepCopyInto(&copied.Items[i].ObjectMeta)
	}
	return &copied
}
