package manager

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/policy"
)

// TestEveryMetric: each metric has a help text, and appears when there is something to
// say; nothing stays behind in the registry.
func TestEveryMetric(t *testing.T) {
	w := newWorld(t)
	registry := prometheus.NewPedanticRegistry()
	w.grant("rest", memcachedRights()...)
	stranger := compileText(t, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: stranger, namespace: `+w.namespace+`}
spec:
  serviceAccountName: nobody
  owner: {apiVersion: v1, kind: ConfigMap}
`)
	r := w.run(Options{Programs: []*policy.Program{memcached(t), stranger}, Namespaces: []string{w.namespace}, Metrics: registry})
	w.createOwner("one")
	w.measures(registry, "ambit_applies_total", map[string]string{"outcome": "created", "resource": "deployments.apps"})
	w.lacks(registry)
	wanted := names(t)
	w.eventually("every metric appears", func(context.Context) error {
		if diff := cmp.Diff(wanted, slices.Sorted(maps.Keys(gathered(t, registry)))); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
	r.stop()
	if left := gathered(t, registry); len(left) > 0 {
		t.Errorf("%d metrics stay behind", len(left))
	}
}

// lacks takes a right away that the owner needs, and gives it back.
func (w *world) lacks(registry *prometheus.Registry) {
	w.Helper()
	role, err := w.admin.RbacV1().Roles(w.namespace).Get(w.Context(), "rest", metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	all := role.Rules
	for _, rules := range [][]rbacv1.PolicyRule{all[:3], all} {
		role.Rules = rules
		if role, err = w.admin.RbacV1().Roles(w.namespace).Update(w.Context(), role, metav1.UpdateOptions{}); err != nil {
			w.Fatal(err)
		}
		if len(rules) < len(all) {
			w.measures(registry, "ambit_denied", map[string]string{"resource": "pods", "verb": "watch"})
		}
	}
	w.measures(registry, "ambit_recovery_seconds", map[string]string{"policy": "ambit-system/memcached"})
}

// names are the metrics that there are.
func names(t *testing.T) []string {
	t.Helper()
	descriptions := make(chan *prometheus.Desc, 100)
	newCollector(newMeters(), newReadiness(Election{}), Options{}).Describe(descriptions)
	close(descriptions)
	text := regexp.MustCompile(`fqName: "(ambit_[a-z_]+)", help: "[A-Z1]`)
	var list []string
	for desc := range descriptions {
		found := text.FindStringSubmatch(desc.String())
		if found == nil {
			t.Fatalf("without a name and a help text: %s", desc)
		}
		list = append(list, found[1])
	}
	slices.Sort(list)
	return list
}

// gathered is what the registry shows, by name.
func gathered(t *testing.T, registry *prometheus.Registry) map[string]*dto.MetricFamily {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	byName := map[string]*dto.MetricFamily{}
	for _, family := range families {
		byName[family.GetName()] = family
	}
	return byName
}

// measures waits until a metric has these labels, among others.
func (w *world) measures(registry *prometheus.Registry, name string, labels map[string]string) {
	w.Helper()
	w.eventually(fmt.Sprintf("%s%v appears", name, labels), func(context.Context) error {
		family := gathered(w.T, registry)[name]
		for _, m := range family.GetMetric() {
			has := map[string]string{}
			for _, pair := range m.GetLabel() {
				if _, wanted := labels[pair.GetName()]; wanted {
					has[pair.GetName()] = pair.GetValue()
				}
			}
			if maps.Equal(has, labels) {
				return nil
			}
		}
		return fmt.Errorf("there is %v", family)
	})
}
