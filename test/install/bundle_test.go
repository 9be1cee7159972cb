package install

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"
)

// serviceVersion is a ClusterServiceVersion, all of whose fields here must be there;
// others are strictly refused below install.
type serviceVersion struct {
	APIVersion, Kind string
	Metadata         struct {
		Name        string
		Annotations map[string]string
	}
	Spec struct {
		DisplayName, Description, Version, MinKubeVersion string
		Icon                                              []struct{ Base64data, Mediatype string }
		Provider                                          struct{ Name string }
		InstallModes                                      []struct {
			Type      string
			Supported bool
		}
		CustomResourceDefinitions struct {
			Owned []struct{ Name, Version, Kind, DisplayName, Description string }
		}
		Install struct {
			Strategy string
			Spec     json.RawMessage
		}
	}
}

// strategy is how OLM installs: what has another field is refused.
type strategy struct {
	Deployments []struct {
		Name  string                `json:"name"`
		Label map[string]string     `json:"label"`
		Spec  appsv1.DeploymentSpec `json:"spec"`
	} `json:"deployments"`
	ClusterPermissions []permissions `json:"clusterPermissions"`
	Permissions        []permissions `json:"permissions"`
}

type permissions struct {
	ServiceAccountName string              `json:"serviceAccountName"`
	Rules              []rbacv1.PolicyRule `json:"rules"`
}

// TestBundle: the bundle has the structure that OLM wants, and in it the Deployment and
// the rights of the default overlay.
func TestBundle(t *testing.T) {
	folder := root + "/bundle/"
	var csv serviceVersion
	decode(t, read(t, folder+"manifests/ambit.clusterserviceversion.yaml"), &csv)
	for what, value := range map[string]string{
		"apiVersion": strings.TrimPrefix(csv.APIVersion, "operators.coreos.com/v1alpha1/"), "displayName": csv.Spec.DisplayName, "description": csv.Spec.Description,
		"version": csv.Spec.Version, "minKubeVersion": csv.Spec.MinKubeVersion, "provider": csv.Spec.Provider.Name, "containerImage": csv.Metadata.Annotations["containerImage"],
	} {
		if value == "" {
			t.Errorf("%s is empty", what)
		}
	}
	if csv.Kind != "ClusterServiceVersion" || csv.Metadata.Name != "ambit.v"+csv.Spec.Version || csv.Spec.Install.Strategy != "deployment" || len(csv.Spec.InstallModes) != 4 || len(csv.Spec.Icon) != 1 {
		t.Errorf("not a ClusterServiceVersion: %+v", csv)
	}
	if owned := csv.Spec.CustomResourceDefinitions.Owned; len(owned) != 1 || owned[0].Name != "reconcilepolicies.ambit.dev" || owned[0].Kind != "ReconcilePolicy" {
		t.Errorf("definitions: %+v", owned)
	}
	checkStrategy(t, csv.Spec.Install.Spec)
	checkExample(t, csv.Metadata.Annotations["alm-examples"])
	checkFiles(t, folder)
}

// decode reads YAML; fields that are not in the type are left out.
func decode(t *testing.T, data []byte, into any) {
	t.Helper()
	if err := yaml.Unmarshal(data, into); err != nil {
		t.Fatal(err)
	}
}

func checkStrategy(t *testing.T, data []byte) {
	t.Helper()
	var got strategy
	if err := yaml.UnmarshalStrict(data, &got); err != nil {
		t.Fatal(err)
	}
	all := objects(t, kustomize(t, root+"/manifests/cluster"))
	want := only[appsv1.Deployment](t, all, "Deployment")[0]
	if len(got.Deployments) != 1 || got.Deployments[0].Name != want.Name || cmp.Diff(want.Spec, got.Deployments[0].Spec) != "" {
		t.Errorf("deployments: %+v", got.Deployments)
	}
	var rules []rbacv1.PolicyRule
	for _, role := range only[rbacv1.ClusterRole](t, all, "ClusterRole") {
		if slices.Contains([]string{"ambit", "ambit-metrics-auth"}, role.Name) {
			rules = append(rules, role.Rules...)
		}
	}
	wantStrategy := []permissions{{ServiceAccountName: "ambit", Rules: rules}}
	if diff := cmp.Diff(wantStrategy, got.ClusterPermissions); diff != "" {
		t.Errorf("clusterPermissions (-want +got):\n%s", diff)
	}
	wantStrategy[0].Rules = only[rbacv1.Role](t, all, "Role")[0].Rules
	if diff := cmp.Diff(wantStrategy, got.Permissions); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

// checkExample: the API server takes the policy that a catalogue shows.
func checkExample(t *testing.T, text string) {
	t.Helper()
	applyCRD(t)
	var examples []map[string]any
	if err := json.Unmarshal([]byte(text), &examples); err != nil || len(examples) != 1 {
		t.Fatalf("alm-examples: %v, %d of them", err, len(examples))
	}
	if err := propose(t, control.Admin(), "default", examples[0]); err != nil {
		t.Error(err)
	}
}

// checkFiles: what annotations.yaml names is there, the image has the same labels, and
// every object of the overlay is in the bundle, or in the ClusterServiceVersion.
func checkFiles(t *testing.T, folder string) {
	t.Helper()
	var metadata struct{ Annotations map[string]string }
	decode(t, read(t, folder+"metadata/annotations.yaml"), &metadata)
	dockerfile := string(read(t, folder+"bundle.Dockerfile"))
	for key, value := range metadata.Annotations {
		if !strings.Contains(dockerfile, "LABEL "+key+"="+value+"\n") {
			t.Errorf("the image lacks the label %s=%s", key, value)
		}
	}
	for _, key := range []string{"manifests", "metadata"} {
		name := metadata.Annotations["operators.operatorframework.io.bundle."+key+".v1"]
		if _, err := os.Stat(folder + name); name == "" || err != nil {
			t.Errorf("the folder of %s: %q, %v", key, name, err)
		}
	}
	files, err := filepath.Glob(folder + "manifests/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, file := range files {
		for _, object := range objects(t, read(t, file)) {
			got = append(got, object.GetKind())
		}
	}
	slices.Sort(got)
	want := []string{"ClusterRole", "ClusterRole", "ClusterRole", "ClusterServiceVersion", "CustomResourceDefinition", "PodDisruptionBudget", "Service"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("objects (-want +got):\n%s", diff)
	}
}
