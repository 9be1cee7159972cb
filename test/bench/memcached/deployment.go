package memcached

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Labels returns the labels of the Deployment and the Pods of a Memcached.
func Labels(name string) map[string]string {
	return map[string]string{LabelName: "memcached", LabelInstance: name}
}

// The labels that lead from a Pod to its Memcached.
const (
	// LabelName has the value memcached.
	LabelName = "app.kubernetes.io/name"
	// LabelInstance has the name of the Memcached.
	LabelInstance = "app.kubernetes.io/instance"
)

// SetDeployment sets the fields of d that a Memcached decides and leaves all
// others as they are, its owner too: setting them on a Deployment that has them
// changes nothing.
func SetDeployment(d *appsv1.Deployment, m *Memcached) {
	labels := Labels(m.Name)
	d.Labels = merge(d.Labels, labels)
	d.Spec.Replicas = ptr.To(m.Spec.Size)
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = merge(d.Spec.Template.Labels, labels)
	setPod(&d.Spec.Template.Spec)
}

// merge returns base with the entries of more.
func merge(base, more map[string]string) map[string]string {
	if base == nil {
		base = make(map[string]string, len(more))
	}
	for k, v := range more {
		base[k] = v
	}
	return base
}

// setPod sets the fields of the Pods.
func setPod(p *corev1.PodSpec) {
	p.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot:   ptr.To(true),
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	if len(p.Containers) != 1 {
		p.Containers = make([]corev1.Container, 1)
	}
	setContainer(&p.Containers[0])
}

// setContainer sets the fields of the one container.
func setContainer(c *corev1.Container) {
	c.Name = "memcached"
	c.Image = "memcached:1.6.26-alpine3.19"
	c.ImagePullPolicy = corev1.PullIfNotPresent
	c.Command = []string{"memcached", "--memory-limit=64", "-o", "modern", "-v"}
	c.Ports = []corev1.ContainerPort{{Name: "memcached", ContainerPort: 11211, Protocol: corev1.ProtocolTCP}}
	c.SecurityContext = &corev1.SecurityContext{
		RunAsNonRoot:             ptr.To(true),
		RunAsUser:                ptr.To[int64](1001),
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
