package main

import (
	"fmt"
	"os"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// object is a part of a document.
type object = map[string]any

// example is the policy that a catalogue shows.
const example = "docs/examples/children.yaml"

// serviceVersion makes the ClusterServiceVersion.
func serviceVersion(all []*unstructured.Unstructured, version, image string) (object, error) {
	deployment, has, err := named[appsv1.Deployment](all, "Deployment", "ambit")
	if !has || err != nil {
		return nil, fmt.Errorf("finding the Deployment: %w", orMissing(err))
	}
	if image != "" {
		deployment.Spec.Template.Spec.Containers[0].Image = image
	}
	strategy, err := installation(all, &deployment)
	if err != nil {
		return nil, err
	}
	owned, err := definitions(all)
	if err != nil {
		return nil, err
	}
	metadata, err := metadataOf(version, deployment.Spec.Template.Spec.Containers[0].Image)
	if err != nil {
		return nil, err
	}
	spec := about()
	spec["version"] = strings.TrimPrefix(version, "v")
	spec["customresourcedefinitions"] = object{"owned": owned}
	spec["install"] = object{"strategy": "deployment", "spec": strategy}
	return object{"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion", "metadata": metadata, "spec": spec}, nil
}

func orMissing(err error) error {
	if err == nil {
		return fmt.Errorf("there is none")
	}
	return err
}

// metadataOf has the example as JSON in it, as catalogues want it.
func metadataOf(version, image string) (object, error) {
	data, err := os.ReadFile(example)
	if err != nil {
		return nil, err
	}
	policy, err := yaml.YAMLToJSON(data)
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w", example, err)
	}
	return object{
		"name":      packageName + ".v" + strings.TrimPrefix(version, "v"),
		"namespace": "placeholder",
		"annotations": object{
			"alm-examples":   "[" + string(policy) + "]",
			"capabilities":   "Seamless Upgrades",
			"categories":     "Developer Tools",
			"containerImage": image,
			"description":    "Runs operators from policy files, inside exactly the permissions that it was given.",
		},
	}, nil
}

// installation is the Deployment with the rights of its account.
func installation(all []*unstructured.Unstructured, deployment *appsv1.Deployment) (object, error) {
	var clusterRules []rbacv1.PolicyRule
	for _, name := range []string{"ambit", "ambit-metrics-auth"} {
		role, has, err := named[rbacv1.ClusterRole](all, "ClusterRole", name)
		if !has || err != nil {
			return nil, fmt.Errorf("finding ClusterRole %q: %w", name, orMissing(err))
		}
		clusterRules = append(clusterRules, role.Rules...)
	}
	role, has, err := named[rbacv1.Role](all, "Role", "ambit")
	if !has || err != nil {
		return nil, fmt.Errorf("finding Role %q: %w", "ambit", orMissing(err))
	}
	account := deployment.Spec.Template.Spec.ServiceAccountName
	return object{
		"deployments":        []object{{"name": deployment.Name, "label": deployment.Labels, "spec": deployment.Spec}},
		"clusterPermissions": []object{{"serviceAccountName": account, "rules": clusterRules}},
		"permissions":        []object{{"serviceAccountName": account, "rules": role.Rules}},
	}, nil
}

// definitions are the kinds that the bundle brings.
func definitions(all []*unstructured.Unstructured) ([]object, error) {
	crd, has, err := named[apiextensionsv1.CustomResourceDefinition](all, "CustomResourceDefinition", "reconcilepolicies.ambit.dev")
	if !has || err != nil {
		return nil, fmt.Errorf("finding the definition of a policy: %w", orMissing(err))
	}
	var owned []object
	for _, version := range crd.Spec.Versions {
		owned = append(owned, object{
			"name": crd.Name, "version": version.Name, "kind": crd.Spec.Names.Kind, "displayName": "Reconcile Policy",
			"description": "Describes an operator: the kind that it serves, the objects that belong to each owner, and how the owner's status is derived.",
		})
	}
	return owned, nil
}
