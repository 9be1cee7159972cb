package install

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var bindAddress = regexp.MustCompile(`^--(health-probe|metrics)-bind-address=:\d+$`)

// arguments are those of the container, with addresses of this machine.
func arguments(args []string, namespace, probes, metrics string) []string {
	var found []string
	for _, arg := range args {
		if kind := bindAddress.FindStringSubmatch(arg); kind != nil {
			address := map[string]string{"health-probe": probes, "metrics": metrics}[kind[1]]
			arg = "--" + kind[1] + "-bind-address=" + address
		}
		found = append(found, strings.ReplaceAll(arg, "$(POD_NAMESPACE)", namespace))
	}
	return found
}

// podOf is the name of a Pod of the Deployment.
func podOf(t *testing.T, namespace string) string {
	t.Helper()
	list, err := typedClient(t, control.Admin()).CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=ambit"})
	if err != nil || len(list.Items) == 0 {
		t.Fatalf("the Pods of Ambit in %q: %v, %d of them", namespace, err, len(list.Items))
	}
	return list.Items[0].Name
}

// mounted are arguments with folders of this machine in place of those of the container
// into which ConfigMaps of the manifests are mounted. They hold the same files.
func mounted(t *testing.T, manifests []byte, pod corev1.PodSpec, args []string) []string {
	t.Helper()
	args = slices.Clone(args)
	for _, mount := range pod.Containers[0].VolumeMounts {
		i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name && v.ConfigMap != nil })
		if i < 0 {
			continue
		}
		folder := filesOf(t, manifests, pod.Volumes[i].ConfigMap.Name)
		for j := range args {
			args[j] = strings.ReplaceAll(args[j], mount.MountPath, folder)
		}
	}
	return args
}

// filesOf writes what a ConfigMap of the manifests holds to a folder.
func filesOf(t *testing.T, manifests []byte, name string) string {
	t.Helper()
	folder := t.TempDir()
	for _, c := range only[corev1.ConfigMap](t, objects(t, manifests), "ConfigMap") {
		for key, text := range c.Data {
			if c.Name != name {
				continue
			}
			if err := os.WriteFile(filepath.Join(folder, key), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return folder
}
