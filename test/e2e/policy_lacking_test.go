package e2e

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// storyKind returns the resource of a kind in the stories of policies.
func storyKind(t *testing.T, kind string) schema.GroupVersionResource {
	t.Helper()
	versions := map[string]string{
		"ClusterRole": "rbac.authorization.k8s.io/v1", "ConfigMap": "v1", "CustomResourceDefinition": "apiextensions.k8s.io/v1",
		"Deployment": "apps/v1", "HorizontalPodAutoscaler": "autoscaling/v2", "Ingress": "networking.k8s.io/v1", "Job": "batch/v1",
		"LimitRange": "v1", "Namespace": "v1", "NetworkPolicy": "networking.k8s.io/v1",
		"PersistentVolumeClaim": "v1", "Pod": "v1", "Report": "batch.example.com/v1alpha1", "ResourceQuota": "v1",
		"RoleBinding": "rbac.authorization.k8s.io/v1", "Secret": "v1", "Service": "v1", "StatefulSet": "apps/v1",
		"Postgres": "sql.example.com/v1alpha1", "WebhookCertificate": "certificates.example.com/v1alpha1", "CronJob": "batch/v1",
		"ValidatingWebhookConfiguration": "admissionregistration.k8s.io/v1",
		"Tenant":                         "tenancy.example.com/v1alpha1", "Volume": "storage.example.com/v1alpha1", "WebApp": "web.example.com/v1alpha1",
	}
	version, ok := versions[kind]
	if !ok {
		t.Fatalf("a story asks for a kind that it does not know: %q", kind)
	}
	gv, err := schema.ParseGroupVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	plural := strings.ToLower(kind) + "s"
	switch {
	case strings.HasSuffix(kind, "Policy"):
		plural = strings.TrimSuffix(plural, "ys") + "ies"
	case strings.HasSuffix(kind, "s"):
		plural = strings.ToLower(kind) + "es"
	}
	return gv.WithResource(plural)
}

func fromYAML(t *testing.T, text string) any {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	var value any
	if err := utiljson.Unmarshal(data, &value); err != nil {
		t.Fatal(err)
	}
	return value
}

// lacking says where got does not have what want has; "" if it has all. Maps may
// have more, lists may not; null stands for a field that is not there.
func lacking(path string, want, got any) string {
	switch want := want.(type) {
	case map[string]any:
		return lackingMap(path, want, got)
	case []any:
		list, ok := got.([]any)
		if !ok || len(list) != len(want) {
			return fmt.Sprintf("%s is %v, want %v", path, got, want)
		}
		for i := range want {
			if lacks := lacking(fmt.Sprintf("%s[%d]", path, i), want[i], list[i]); lacks != "" {
				return lacks
			}
		}
		return ""
	}
	if !reflect.DeepEqual(want, got) {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	return ""
}

func lackingMap(path string, want map[string]any, got any) string {
	have, ok := got.(map[string]any)
	if !ok && got != nil {
		return fmt.Sprintf("%s is %v, want %v", path, got, want)
	}
	keys := make([]string, 0, len(want))
	for key := range want {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	for _, key := range keys {
		if lacks := lackingField(path, key, want[key], have); lacks != "" {
			return lacks
		}
	}
	return ""
}

func lackingField(path, key string, want any, have map[string]any) string {
	path = strings.TrimPrefix(path+"."+key, ".")
	if _, there := have[key]; want == nil && !there {
		return ""
	}
	// Conditions are looked up by their type.
	if conditions, ok := want.(map[string]any); ok && key == "conditions" {
		return lackingConditions(path, conditions, have[key])
	}
	return lacking(path, want, have[key])
}

// lackingConditions compares conditions, in want a map by type.
func lackingConditions(path string, want map[string]any, got any) string {
	byType := map[string]any{}
	list, _ := got.([]any)
	for _, item := range list {
		if c, ok := item.(map[string]any); ok {
			byType[fmt.Sprint(c["type"])] = c
		}
	}
	return lackingMap(path, want, byType)
}
