package install

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// give writes the policy where the documents say; a file is there already. The demo
// holds it as a ConfigMap, which is in the way of the other sources.
func (i installation) give(s *stage, from source) {
	s.t.Helper()
	if i.overlay == "demo" && from == fromConfigMap {
		return
	}
	remove(s.t, configMaps, s.home, "memcached")
	switch from {
	case fromConfigMap:
		must(s.t)(kubectl(s.t, s.by, nil, "create", "configmap", "memcached", "-n", s.home, "--from-file", s.policy))
		must(s.t)(kubectl(s.t, s.by, nil, "label", "configmap", "memcached", "-n", s.home, "ambit.dev/policy-source=true"))
	case fromResource:
		must(s.t)(kubectl(s.t, s.by, nil, "apply", "-n", s.home, "-f", s.policy))
	}
}

// takeBack looks what is said of the policy, and deletes it.
func (s *stage) takeBack(from source) {
	s.t.Helper()
	switch from {
	case fromConfigMap:
		s.isAnnotated()
		removeAs(s.t, s.by, configMaps, s.home, "memcached")
	case fromResource:
		for _, kind := range []string{v1alpha1.ConditionValid, v1alpha1.ConditionPermitted, v1alpha1.ConditionReady} {
			awaitCondition(s.t, policies, s.home, "memcached", kind, "True")
		}
		removeAs(s.t, s.by, policies, s.home, "memcached")
	}
}

// isAnnotated waits until the ConfigMap says that the policy is served.
func (s *stage) isAnnotated() {
	s.t.Helper()
	eventually(s.t, "the ConfigMap says how the policy fares", func() error {
		found, err := s.sees.CoreV1().ConfigMaps(s.home).Get(s.t.Context(), "memcached", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if said := found.Annotations[v1alpha1.AnnotationStatus]; !strings.Contains(said, `"policy":"memcached"`) || !strings.Contains(said, `"reason":"Serving"`) {
			return fmt.Errorf("it says %q", said)
		}
		return nil
	})
}
