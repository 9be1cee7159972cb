package install

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// TestNetworkPolicy: the overlay with a NetworkPolicy has one for Ambit's Pods, both ways: in to
// the ports that the Pods listen on, out to the usual ports of an API server, and to DNS.
func TestNetworkPolicy(t *testing.T) {
	rendered := objects(t, kustomize(t, root+"/manifests/isolated"))
	policies, deployments := only[networkingv1.NetworkPolicy](t, rendered, "NetworkPolicy"), only[appsv1.Deployment](t, rendered, "Deployment")
	if len(policies) != 1 || len(deployments) != 1 {
		t.Fatalf("%d NetworkPolicies for %d Deployments", len(policies), len(deployments))
	}
	policy, pod := policies[0], deployments[0].Spec.Template
	selector, err := metav1.LabelSelectorAsSelector(&policy.Spec.PodSelector)
	if err != nil || policy.Namespace != deployments[0].Namespace || !selector.Matches(labels.Set(pod.Labels)) {
		t.Errorf("it is in namespace %q for %s, the Pods have %v: %v", policy.Namespace, selector, pod.Labels, err)
	}
	if diff := cmp.Diff([]networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}, policy.Spec.PolicyTypes); diff != "" {
		t.Errorf("what it restricts (-want +got):\n%s", diff)
	}
	listens, in := map[int32]bool{}, map[int32]bool{}
	for _, port := range pod.Spec.Containers[0].Ports {
		listens[port.ContainerPort] = true
	}
	for _, rule := range policy.Spec.Ingress {
		addPorts(t, in, rule.Ports)
	}
	if diff := cmp.Diff(listens, in); diff != "" {
		t.Errorf("ports that are open (-the Pod's +the NetworkPolicy's):\n%s", diff)
	}
	anywhere, some := map[int32]bool{}, map[int32]bool{}
	for _, rule := range policy.Spec.Egress {
		addPorts(t, map[bool]map[int32]bool{true: anywhere, false: some}[len(rule.To) == 0], rule.Ports)
	}
	if diff := cmp.Diff([]map[int32]bool{{443: true, 6443: true}, {53: true}}, []map[int32]bool{anywhere, some}); diff != "" {
		t.Errorf("ports that are reached everywhere, and in some places (-want +got):\n%s", diff)
	}
}

// addPorts adds the ports of a rule. A rule without any would open all of them.
func addPorts(t *testing.T, to map[int32]bool, ports []networkingv1.NetworkPolicyPort) {
	t.Helper()
	if len(ports) == 0 {
		t.Error("a rule has no ports: it opens all")
	}
	for _, port := range ports {
		to[port.Port.IntVal] = true
	}
}

// TestChartFilesChecked: the ConfigMap that the chart mounts policies from is the one whose
// authors are checked, in the namespace of the release, whatever that is called.
func TestChartFilesChecked(t *testing.T) {
	for release, name := range map[string]string{"ambit": "ambit-files", "staging": "staging-ambit-files"} {
		output, err := command(t, nil, program(t, "helm"), "template", release, root+"/charts/ambit", "--namespace", "operators", "--set", "policies.files.one\\.yaml=a: b")
		if err != nil {
			t.Fatalf("%v\n%s", err, output)
		}
		rendered := objects(t, []byte(output))
		maps := only[corev1.ConfigMap](t, rendered, "ConfigMap")
		if len(maps) != 1 || maps[0].Name != name || maps[0].Namespace != "operators" {
			t.Fatalf("%s: there are the ConfigMaps %v, want %q", release, maps, name)
		}
		for _, v := range only[appsv1.Deployment](t, rendered, "Deployment")[0].Spec.Template.Spec.Volumes {
			if v.Name == "policies" && (v.ConfigMap == nil || v.ConfigMap.Name != name) {
				t.Errorf("%s: mounted is %v", release, v.ConfigMap)
			}
		}
		checks := map[string]string{}
		for _, p := range only[admissionv1.ValidatingAdmissionPolicy](t, rendered, "ValidatingAdmissionPolicy") {
			if !strings.HasSuffix(p.Name, "-file-authors") {
				continue
			}
			for _, rule := range p.Spec.MatchConstraints.ResourceRules {
				checks[strings.Join(rule.ResourceNames, ",")] = strings.Join(p.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values, ",")
			}
		}
		if diff := cmp.Diff(map[string]string{name: "operators"}, checks); diff != "" {
			t.Errorf("%s: what is checked, and where (-want +got):\n%s", release, diff)
		}
	}
}
