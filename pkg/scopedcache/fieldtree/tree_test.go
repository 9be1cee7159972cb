package fieldtree

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
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

// TestPrune: what is kept of a Go type is what is kept of its JSON.
func TestPrune(t *testing.T) {
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
			paths:  []string{"spec.replicas", "spec.template.spec.containers.image", "metadata.annotations.keep", "status.readyReplicas"},
			change: func(d *appsv1.Deployment) {
				d.Annotations = map[string]string{"keep": "1"}
				d.Spec.Paused, d.Spec.Template.Spec.Containers[0].Name, d.Status.Replicas = false, "", 0
			},
		},
		"Wide": {
			reason: "the wider of two paths counts",
			paths:  []string{"spec.replicas", "spec", "status", "status.replicas"},
			change: func(d *appsv1.Deployment) { d.Annotations = nil },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := wholeDeployment()
			want.ManagedFields = nil
			tc.change(want)
			tree := New(tc.paths)
			typed := wholeDeployment()
			tree.PruneObject(typed)
			if diff := cmp.Diff(want, typed); diff != "" {
				t.Errorf("%s: as a Go type (-want +got):\n%s", tc.reason, diff)
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(wholeDeployment())
			if err != nil {
				t.Fatal(err)
			}
			got := &appsv1.Deployment{}
			tree.PruneObject(&unstructured.Unstructured{Object: content})
			if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, got); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: as JSON (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestPruneMetadata: a metadata-only object keeps all, and what is no object is left alone.
func TestPruneMetadata(t *testing.T) {
	object := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "a", Annotations: map[string]string{"a": "b"}}}
	New(nil).PruneObject(object)
	if object.Annotations["a"] != "b" {
		t.Error("an annotation was taken from a metadata-only object")
	}
	New(nil).PruneObject("text")
}
