package scopedcache

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func wholeDeployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{
			Name: "a", Namespace: "b", UID: "c", ResourceVersion: "1", Labels: map[string]string{"l": "1"}, Annotations: map[string]string{"keep": "1", "drop": "2"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "m"}},
		},
		Spec: appsv1.DeploymentSpec{Replicas: ptr.To(int32(3)), Paused: true, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
			Containers: []corev1.Container{{Name: "n", Image: "i"}},
		}}},
		Status: appsv1.DeploymentStatus{Replicas: 2, ReadyReplicas: 1},
	}
}

// TestFields: what is kept of a Go type is what is kept of its JSON.
func TestFields(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		paths  []string
		change func(*appsv1.Deployment)
	}{
		"Nothing": {
			reason: "what identifies an object stays",
			change: func(d *appsv1.Deployment) {
				d.Annotations, d.Spec, d.Status = nil, appsv1.DeploymentSpec{}, appsv1.DeploymentStatus{}
			},
		},
		"Paths": {
			reason: "a path goes through pointers, lists and maps",
			paths:  Fields("spec.replicas", "spec.template.spec.containers.image", "metadata.annotations.keep", "status.readyReplicas"),
			change: func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{"keep": "1"}
				d.Spec.Paused, d.Spec.Template.Spec.Containers[0].Name, d.Status.Replicas = false, "", 0
			},
		},
		"Wide": {
			reason: "the wider of two paths counts",
			paths:  Fields("spec.replicas", "spec", "status", "status.replicas"),
			change: func(d *appsv1.Deployment) { d.Annotations = nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := wholeDeployment()
			want.ManagedFields = nil
			tc.change(want)
			tree := newFieldTree(tc.paths)
			if diff := cmp.Diff(want, tree.prune(wholeDeployment())); diff != "" {
				t.Errorf("%s: as a Go type (-want +got):\n%s", tc.reason, diff)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wholeDeployment())
			if err != nil {
				t.Fatal(err)
			}
			got := &appsv1.Deployment{}
			pruned := tree.prune(&unstructured.Unstructured{Object: content}).(*unstructured.Unstructured)
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(pruned.Object, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: as JSON (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func newNoInformer(toolscache.ListerWatcher, runtime.Object, time.Duration, toolscache.Indexers) toolscache.SharedIndexInformer {
	return nil
}

// TestRefused: what is not supported is refused by name, when the cache is made.
func TestRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		own     Options
		options cache.Options
		want    string
	}{
		"NewInformer": {
			options: cache.Options{NewInformer: newNoInformer},
			want:    "making a scoped cache: NewInformer is not supported: its informers are those of Ambit",
		},
		"Twice": {
			own:     Options{Namespaces: InNamespaces("a")},
			options: cache.Options{DefaultNamespaces: map[string]cache.Config{"b": {}}},
			want:    "making a scoped cache: both DefaultNamespaces and Namespaces are given",
		},
		"Empty": {
			own:  Options{Namespaces: InNamespaces("a", "")},
			want: "naming the namespaces of a cache: one of the names is empty",
		},
		"Field": {
			own:  Options{Fields: map[client.Object][]string{&appsv1.Deployment{}: Fields("spec.replica")}},
			want: "keeping fields: there is no Deployment.spec.replica",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := New(tc.own)(&rest.Config{}, tc.options)
			if err == nil || err.Error() != tc.want {
				t.Errorf("%v, want %s", err, tc.want)
			}
		})
	}
}
