package install

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// template renders the chart for a namespace with these values.
func template(t *testing.T, namespace, values string) ([]byte, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	output, err := command(t, nil, program(t, "helm"), "template", "ambit", root+"/charts/ambit", "--namespace", namespace, "--values", file)
	return []byte(output), err
}

func mustTemplate(t *testing.T, namespace, values string) []byte {
	t.Helper()
	rendered, err := template(t, namespace, values)
	if err != nil {
		t.Fatalf("%v\n%s", err, rendered)
	}
	return rendered
}

// TestChartIsKustomize: with its default values the chart renders what the overlays
// do, but for the namespace, which Helm makes, and what Helm wants to be noted.
func TestChartIsKustomize(t *testing.T) {
	for overlay, values := range map[string]string{
		"cluster": "", "namespaced": "mode: namespaced", "isolated": "networkPolicy: {enabled: true}",
	} {
		want := comparable(objects(t, kustomize(t, root+"/manifests/"+overlay)))
		delete(want, "Namespace/ambit-system")
		got := comparable(objects(t, mustTemplate(t, "ambit-system", values)))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-kustomize +chart):\n%s", overlay, diff)
		}
	}
}

// comparable returns objects by kind and name, without what Helm adds.
func comparable(all []*unstructured.Unstructured) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, object := range all {
		labels, annotations := object.GetLabels(), object.GetAnnotations()
		for _, added := range []string{"app.kubernetes.io/instance", "app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"} {
			delete(labels, added)
		}
		if object.GetKind() == "CustomResourceDefinition" {
			delete(labels, "app.kubernetes.io/name")
		}
		delete(annotations, "helm.sh/resource-policy")
		object.SetLabels(labels)
		object.SetAnnotations(annotations)
		found[object.GetKind()+"/"+object.GetName()] = object.Object
	}
	return found
}

// everything are values that differ from the defaults in all that can be applied.
const everything = `
image: {repository: example.com/ambit, digest: "sha256:` + "0000000000000000000000000000000000000000000000000000000000000000" + `"}
imagePullSecrets: [{name: pull}]
replicas: 3
policies: {from: [crd], files: {one.yaml: "a: b"}}
namespaces: [a, b]
leaderElection: {mode: life, namespace: a}
concurrency: 5
qps: 20
burst: 40
metrics: {port: 9443, certificateSecret: tls, service: {annotations: {a: b}}}
enableHTTP2: true
pprof: {address: "127.0.0.1:6060"}
log: {level: debug, encoder: json}
traces: {endpoint: "http://collector:4318"}
extraArgs: [--v=1]
extraEnv: [{name: A, value: b}]
serviceAccount: {name: other, annotations: {a: b}}
rbac:
  extraClusterRules: [{apiGroups: [apps], resources: [deployments], verbs: [list]}]
  extraRules: [{apiGroups: [apps], resources: [deployments], verbs: [list]}]
resources: {limits: {memory: 1Gi}}
priorityClassName: system-cluster-critical
nodeSelector: {a: b}
tolerations: [{key: a, operator: Exists}]
affinity: {nodeAffinity: {}}
topologySpreadConstraints:
  - {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {app.kubernetes.io/name: ambit}}}
podAnnotations: {a: b}
podLabels: {a: b}
grafanaDashboard: {enabled: true}
networkPolicy:
  enabled: true
  metricsFrom: [{namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: monitoring}}}]
  apiServer: {cidrs: [10.0.0.1/32], ports: [8443]}
  extraEgress: [{ports: [{port: 4318, protocol: TCP}], to: [{podSelector: {}}]}]
`

// TestChartWithEverything: all values together give objects that the API server takes.
func TestChartWithEverything(t *testing.T) {
	apply(t, control.Admin(), kustomize(t, root+"/manifests/cluster")) // for the namespace and the kind
	rendered := mustTemplate(t, "ambit-system", everything)
	must(t)(kubectl(t, control.Admin(), rendered, "apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict", "-f", "-"))
	for _, want := range []string{
		"-f=/etc/ambit/policies", "--policies-from=crd", "--namespaces=a,b", "--leader-elect=life", "--leader-election-namespace=a",
		"--concurrency=5", "--qps=20", "--burst=40", "--metrics-bind-address=:9443", "--metrics-cert-path=/etc/ambit/certificate",
		"--enable-http2", "--pprof-bind-address=127.0.0.1:6060", "--zap-log-level=debug", "--zap-encoder=json", "--v=1", "921MiB",
		"example.com/ambit@sha256:" + strings.Repeat("0", 64),
	} {
		if !strings.Contains(string(rendered), want) {
			t.Errorf("%q is not in what is rendered", want)
		}
	}
	for _, role := range only[rbacv1.Role](t, objects(t, rendered), "Role") {
		checkRules(t, role.Name, role.Rules)
	}
}

// TestChartSourceRights: Ambit may do nothing with a kind that it reads no policies from,
// but what the leader's own ConfigMap takes.
func TestChartSourceRights(t *testing.T) {
	for name, test := range map[string]struct {
		reason, values string
		maps, crds     []string // the verbs on these, with the names that they are for
	}{
		"default":    {"both are read", "", []string{"list", "watch", "patch"}, []string{"list", "watch", "patch"}},
		"crd":        {"no ConfigMap is read", "policies: {from: [crd]}", nil, []string{"list", "watch", "patch"}},
		"configmap":  {"no custom resource is read", "policies: {from: [configmap]}", []string{"list", "watch", "patch"}, nil},
		"life":       {"the ConfigMap is the leader's", "policies: {from: [crd]}\nleaderElection: {mode: life}", []string{"create", "get ambit-leader", "watch ambit-leader", "delete ambit-leader"}, []string{"list", "watch", "patch"}},
		"namespaced": {"nothing else is read", "mode: namespaced\npolicies: {from: [crd]}", nil, []string{"list", "watch", "patch"}},
	} {
		t.Run(name, func(t *testing.T) {
			rendered := objects(t, mustTemplate(t, "ambit-system", test.values))
			var rules []rbacv1.PolicyRule
			for _, role := range only[rbacv1.Role](t, rendered, "Role") {
				rules = append(rules, role.Rules...)
			}
			if name != "namespaced" {
				for _, role := range only[rbacv1.ClusterRole](t, rendered, "ClusterRole") {
					if role.Name == "ambit" {
						rules = append(rules, role.Rules...)
					}
				}
			}
			for resource, want := range map[string][]string{"configmaps": test.maps, "reconcilepolicies": test.crds} {
				if diff := cmp.Diff(want, verbsOn(rules, resource)); diff != "" {
					t.Errorf("%s: verbs on %s (-want +got):\n%s", test.reason, resource, diff)
				}
			}
		})
	}
}

// verbsOn are the verbs of rules on a resource, each with the name that it is for.
func verbsOn(rules []rbacv1.PolicyRule, resource string) []string {
	var verbs []string
	for _, rule := range rules {
		if !slices.Contains(rule.Resources, resource) {
			continue
		}
		for _, verb := range rule.Verbs {
			verbs = append(verbs, strings.TrimSpace(verb+" "+strings.Join(rule.ResourceNames, ",")))
		}
	}
	return verbs
}

// TestChartMonitoring: what needs kinds of others is off, and made when it is asked for.
func TestChartMonitoring(t *testing.T) {
	kinds := func(values string) map[string]bool {
		found := map[string]bool{}
		for _, object := range objects(t, mustTemplate(t, "ambit-system", values)) {
			found[object.GetKind()] = true
			if rules, has, _ := unstructured.NestedSlice(object.Object, "spec", "groups"); object.GetKind() == "PrometheusRule" && (!has || len(rules) == 0) {
				t.Error("the PrometheusRule has no rules")
			}
			if text, has, _ := unstructured.NestedString(object.Object, "data", "ambit.json"); has && text != string(read(t, root+"/manifests/monitoring/dashboard.json")) {
				t.Error("the dashboard is not that of manifests/monitoring")
			}
		}
		return found
	}
	off, on := kinds(""), kinds("serviceMonitor: {enabled: true}\nprometheusRule: {enabled: true}\ngrafanaDashboard: {enabled: true}")
	for _, kind := range []string{"ServiceMonitor", "PrometheusRule", "ConfigMap"} {
		if off[kind] || !on[kind] {
			t.Errorf("%s: by default %t, when asked for %t; want false and true", kind, off[kind], on[kind])
		}
	}
}

// TestChartRefuses: values that can be no installation are refused, with their name.
func TestChartRefuses(t *testing.T) {
	for values, want := range map[string]string{
		"mode: everywhere":                    "mode",
		"leaderElection: {mode: of}":          "leaderElection",
		"leaderElection: {mode: \"off\"}":     "one replica",
		"resources: {limits: {memory: 500M}}": "goMemoryLimit",
		"replica: 2":                          "replica",
		"policies: {from: [git]}":             "policies",
		"policies: {files: {notes.txt: a}}":   "files",
		"namespaces: [A_B]":                   "namespaces",
		"serviceMonitor: {interval: often}":   "interval",
		"image: {digest: sha256:12}":          "digest",
		"networkPolicy: {from: []}":           "networkPolicy",
	} {
		if output, err := template(t, "ambit-system", values); err == nil || !strings.Contains(string(output), want) {
			t.Errorf("%s: %v, want an error with %q:\n%.300s", values, err, want, output)
		}
	}
}
