package main

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

// syncRequest is what is read of the request of a sync hook: the owner, and by kind and name its
// children and what customizeOwner asked for.
type syncRequest struct {
	Parent   memcached.Memcached `json:"parent"`
	Children struct {
		Deployments map[string]*appsv1.Deployment `json:"Deployment.apps/v1"`
	} `json:"children"`
	Related struct {
		Pods map[string]corev1.Pod `json:"Pod.v1"`
	} `json:"related"`
}

// syncAnswer is the status and the children that there should be.
type syncAnswer struct {
	Status   memcached.Status `json:"status"`
	Children []any            `json:"children"`
}

// syncOwner answers with the Deployment of an owner and its status.
func syncOwner(request syncRequest) syncAnswer {
	owner := request.Parent
	current := request.Children.Deployments[owner.Name]
	if current == nil {
		current = &appsv1.Deployment{}
	}
	pods := make([]corev1.Pod, 0, len(request.Related.Pods))
	for _, pod := range request.Related.Pods {
		pods = append(pods, pod)
	}
	memcached.SetStatus(&owner, current, pods)
	return syncAnswer{Status: owner.Status, Children: []any{newDeployment(&owner)}}
}

// desiredDeployment is a Deployment with the fields that the owner decides, and no other:
// metacontroller applies all that it is given.
type desiredDeployment struct {
	metav1.TypeMeta `json:",inline"`
	Metadata        desiredMeta           `json:"metadata"`
	Spec            appsv1.DeploymentSpec `json:"spec"`
}

// desiredMeta is metadata of a child.
type desiredMeta struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

// newDeployment returns the Deployment of an owner.
func newDeployment(owner *memcached.Memcached) desiredDeployment {
	var whole appsv1.Deployment
	memcached.SetDeployment(&whole, owner)
	return desiredDeployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		Metadata: desiredMeta{Name: owner.Name, Labels: whole.Labels},
		Spec:     whole.Spec,
	}
}

// customizeRequest is what is read of the request of a customize hook.
type customizeRequest struct {
	Parent memcached.Memcached `json:"parent"`
}

// customizeAnswer says what else the sync hook is to be sent.
type customizeAnswer struct {
	RelatedResources []relatedRule `json:"relatedResources"`
}

// relatedRule selects objects.
type relatedRule struct {
	APIVersion    string               `json:"apiVersion"`
	Resource      string               `json:"resource"`
	Namespace     string               `json:"namespace"`
	LabelSelector metav1.LabelSelector `json:"labelSelector"`
}

// customizeOwner answers with the Pods of an owner.
func customizeOwner(request customizeRequest) customizeAnswer {
	owner := request.Parent
	return customizeAnswer{RelatedResources: []relatedRule{{
		APIVersion: "v1", Resource: "pods", Namespace: owner.Namespace,
		LabelSelector: metav1.LabelSelector{MatchLabels: memcached.Labels(owner.Name)},
	}}}
}
