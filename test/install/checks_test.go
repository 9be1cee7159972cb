package install

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// checkRules refuses what no default installation may have.
func checkRules(t *testing.T, role string, rules []rbacv1.PolicyRule) {
	t.Helper()
	for _, rule := range rules {
		for _, word := range slices.Concat(rule.Verbs, rule.Resources, rule.APIGroups, rule.NonResourceURLs) {
			if slices.Contains([]string{"*", "escalate", "bind", "impersonate", "secrets"}, word) {
				t.Errorf("role %q has %q in %v", role, word, rule)
			}
		}
	}
}

// checkPod looks at the only container of a Pod: probes, a file system that cannot be
// written, and a limit that Go knows of.
func checkPod(t *testing.T, where string, spec corev1.PodSpec) {
	t.Helper()
	if len(spec.Containers) != 1 || len(spec.InitContainers) != 0 {
		t.Fatalf("%s: %d containers, want 1", where, len(spec.Containers))
	}
	c := spec.Containers[0]
	if c.LivenessProbe == nil || c.ReadinessProbe == nil || c.LivenessProbe.HTTPGet.Path != "/healthz" || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("%s: probes %v, %v; want /healthz and /readyz", where, c.LivenessProbe, c.ReadinessProbe)
	}
	if s := c.SecurityContext; s == nil || s.ReadOnlyRootFilesystem == nil || !*s.ReadOnlyRootFilesystem {
		t.Errorf("%s: the root file system can be written", where)
	}
	limit := c.Resources.Limits.Memory().Value()
	i := slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "GOMEMLIMIT" })
	if i < 0 || limit == 0 {
		t.Fatalf("%s: a memory limit of %d, GOMEMLIMIT is variable %d; want both", where, limit, i)
	}
	told, err := resource.ParseQuantity(trimB(c.Env[i].Value))
	if err != nil || told.Value() < limit*8/10 || told.Value() > limit*95/100 {
		t.Errorf("%s: GOMEMLIMIT %q (%v) of a limit of %d; want about nine tenths", where, c.Env[i].Value, err, limit)
	}
}

// trimB makes a quantity of Kubernetes of one of Go: 460MiB is 460Mi.
func trimB(text string) string {
	if n := len(text); n > 0 && text[n-1] == 'B' {
		return text[:n-1]
	}
	return text
}
