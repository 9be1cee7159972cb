package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/test/bench/stage"
)

// The sides, and the names of their users.
const (
	sideBare  = "bare"
	sideAmbit = "ambit"
)

// The scenes.
const (
	sceneOneChild     = "one-child"
	sceneFourChildren = "four-children"
	sceneByNamespace  = "by-namespace"
)

// allScenes returns the names of all scenes.
func allScenes() []string { return []string{sceneOneChild, sceneFourChildren, sceneByNamespace} }

// scene is what is measured together.
type scene struct {
	options
	// Title says what it is.
	Title string
	// Policy is the file that Ambit runs.
	Policy string
	// Sizes are the numbers of owners.
	Sizes []int
	// Sides are those that take part.
	Sides []string
	// On is where, without users.
	On stage.Options
}

// pickScenes returns the scenes that the options name.
func pickScenes(o options) ([]scene, error) {
	known := map[string]scene{
		sceneOneChild: {
			Title: "Owners with one child", Policy: "policies/memcached.yaml",
			Sizes: []int{1000, 3000, 10000}, Sides: []string{sideBare, sideAmbit}, On: oneChild(100),
		},
		sceneFourChildren: {
			Title: "Owners with four children", Policy: "test/bench/large/four.yaml",
			Sizes: []int{9000}, Sides: []string{sideAmbit}, On: fourChildren(100),
		},
		sceneByNamespace: {
			Title: "Namespaces that are permitted one by one, owners with one child", Policy: "policies/memcached.yaml",
			Sizes: []int{5000}, Sides: []string{sideAmbit}, On: oneChild(1000),
		},
	}
	scenes := make([]scene, 0, len(o.Scenes))
	for _, name := range o.Scenes {
		s, ok := known[name]
		if !ok {
			return nil, fmt.Errorf("no scene %q: there are %s", name, strings.Join(allScenes(), ", "))
		}
		s.On.ByNamespace = name == sceneByNamespace
		scenes = append(scenes, s.scaled(o))
	}
	return scenes, nil
}

// scaled returns the scene with its numbers divided, but at least 1.
func (s scene) scaled(o options) scene {
	s.options = o
	s.On.Namespaces = max(1, s.On.Namespaces/o.Scale)
	s.Sizes = slices.Clone(s.Sizes)
	for i := range s.Sizes {
		s.Sizes[i] = max(1, s.Sizes[i]/o.Scale)
	}
	return s
}

// oneChild is a stage for policies/memcached.yaml.
func oneChild(namespaces int) stage.Options {
	return stage.Options{Namespaces: namespaces, Children: []stage.Child{stage.Deployment()}, Rules: stage.MemcachedRules()}
}

// fourChildren is a stage for four.yaml.
func fourChildren(namespaces int) stage.Options {
	return stage.Options{
		Namespaces: namespaces,
		Children: []stage.Child{
			stage.Deployment(), {Kind: "Service", Path: "/api/v1/services"},
			{Kind: "Ingress", Path: "/apis/networking.k8s.io/v1/ingresses"}, {Kind: "ConfigMap", Path: "/api/v1/configmaps"},
		},
		Rules: append(stage.MemcachedRules(), []rbacv1.PolicyRule{
			stage.ChildRule("", "services"), stage.ChildRule("networking.k8s.io", "ingresses"), stage.ChildRule("", "configmaps"),
		}...),
	}
}

// command returns the program of a side with its arguments, but for the kubeconfig. Ambit serves its metrics
// at the address, and is told of the namespaces where it cannot look for them.
func (s scene) command(side, metrics string, namespaces []string) []string {
	workers := fmt.Sprintf("--concurrency=%d", s.Workers)
	if side == sideBare {
		return []string{filepath.Join(s.Bin, "bench-bare"), workers}
	}
	command := []string{
		filepath.Join(s.Bin, "ambit"), "run", "-f", s.Policy, workers,
		"--metrics-bind-address=" + metrics, "--metrics-secure=false",
	}
	if s.On.ByNamespace {
		command = append(command, "--namespaces="+strings.Join(namespaces, ","))
	}
	return command
}
