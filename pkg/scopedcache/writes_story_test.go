package scopedcache

import (
	"errors"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	appsv1apply "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ambit-dev/ambit/pkg/scopedcache/waitingclient"
)

// newWriter makes a cache of an administrator, which runs, and a client that waits for it.
func (w *world) newWriter(own Options, options client.Options) client.Client {
	w.Helper()
	made, err := New(own)(w.cluster.Admin(), cache.Options{})
	w.must(err)
	w.cache = made.(*Cache)
	_, err = w.cache.GetInformer(w.ctx, &appsv1.Deployment{})
	w.must(err)
	w.start()
	if !w.cache.WaitForCacheSync(w.ctx) {
		w.Fatal("it does not sync")
	}
	options.Cache = &client.CacheOptions{Reader: w.cache}
	c, err := NewClient(w.cluster.Admin(), options)
	w.must(err)
	return c
}

func newDeployment(namespace string) *appsv1.Deployment {
	labels := map[string]string{"app": "own"}
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "own"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}},
		},
	}
}

// TestOwnSubresources: writes of subresources are in the cache when they return, whatever has the answer.
func TestOwnSubresources(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	c := w.newWriter(Options{}, client.Options{})
	written := newDeployment(w.namespace())
	w.must(c.Create(w.ctx, written))
	read := func() *appsv1.Deployment {
		found := &appsv1.Deployment{}
		w.must(c.Get(w.ctx, client.ObjectKeyFromObject(written), found))
		return found
	}
	for i := range int32(10) {
		scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: i + 2}}
		w.must(c.SubResource("scale").Update(w.ctx, read(), client.WithSubResourceBody(scale)))
		if replicas := *read().Spec.Replicas; replicas != i+2 {
			t.Fatalf("scaled to %d, read %d", i+2, replicas)
		}
		status := appsv1apply.Deployment(written.Name, written.Namespace).WithStatus(appsv1apply.DeploymentStatus().WithReplicas(i + 5).WithObservedGeneration(1))
		w.must(c.Status().Apply(w.ctx, status, client.FieldOwner("test"), client.ForceOwnership))
		if replicas := read().Status.Replicas; replicas != i+5 {
			t.Fatalf("applied %d, read %d", i+5, replicas)
		}
	}
}

// TestOwnWritesOfParts: what would clear a field that is not kept is refused.
func TestOwnWritesOfParts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	for name, tc := range map[string]struct {
		fields  []string
		refused bool
	}{"None": {Fields("spec.replicas"), true}, "Some": {Fields("status.replicas"), true}, "Whole": {Fields("status"), false}} {
		t.Run(name, func(t *testing.T) {
			w := &world{T: t, cluster: w.cluster, admin: w.admin, ctx: t.Context()}
			c := w.newWriter(Options{Fields: map[client.Object][]string{&appsv1.Deployment{}: tc.fields}}, client.Options{})
			written := newDeployment(w.namespace())
			w.must(c.Create(w.ctx, written))
			if err := c.Update(w.ctx, written); !errors.Is(err, waitingclient.ErrNotWhole) {
				t.Errorf("an update: %v", err)
			}
			found := &appsv1.Deployment{}
			w.must(c.Get(w.ctx, client.ObjectKeyFromObject(written), found))
			if err := c.Status().Update(w.ctx, found); errors.Is(err, waitingclient.ErrNotWhole) != tc.refused || err != nil && !tc.refused {
				t.Errorf("an update of the status, refused should be %t: %v", tc.refused, err)
			}
		})
	}
}

// TestDryRun: a client that writes nothing waits for nothing.
func TestDryRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{}, cache.Options{})
	c := w.newWriter(Options{WriteTimeout: time.Second}, client.Options{DryRun: ptr.To(true)})
	written := newDeployment(w.namespace())
	_, err := w.admin.AppsV1().Deployments(written.Namespace).Create(w.ctx, written, metav1.CreateOptions{})
	w.must(err)
	w.until("it is read", func() bool { return c.Get(w.ctx, client.ObjectKeyFromObject(written), &appsv1.Deployment{}) == nil })
	w.must(c.Delete(w.ctx, written))
}
