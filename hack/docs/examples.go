package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"
)

// example is a policy that shows a field.
type example struct {
	// name is that of its file, without .yaml.
	name string
	text string
	// spec is decoded from text.
	spec map[string]any
	// used: it stands in the page already.
	used bool
}

// readExamples reads the *.yaml directly in a folder, by name.
func readExamples(dir string) (map[string]*example, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil {
		return nil, err
	}
	found := map[string]*example{}
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var policy struct {
			Spec map[string]any `json:"spec"`
		}
		if err := yaml.Unmarshal(data, &policy); err != nil {
			return nil, fmt.Errorf("reading %s: %w", path, err)
		}
		name := strings.TrimSuffix(filepath.Base(path), ".yaml")
		found[name] = &example{name: name, text: string(data), spec: policy.Spec}
	}
	return found, nil
}

// exampleOf returns the example of a field: that of its name, or of the nearest
// field above it; nil if there is none that has the field.
func exampleOf(f field, examples map[string]*example) *example {
	name := strings.ReplaceAll(f.path, "[]", "")
	for {
		if e := examples[name]; e != nil && uses(e.spec, strings.Split(f.path, ".")) {
			return e
		}
		dot := strings.LastIndex(name, ".")
		if dot < 0 {
			return nil
		}
		name = name[:dot]
	}
}

// uses says whether a field is set at the path, in any element of its lists.
func uses(v any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	object, _ := v.(map[string]any)
	key, isList := strings.CutSuffix(path[0], "[]")
	inside, set := object[key]
	if !set || !isList {
		return set && uses(inside, path[1:])
	}
	list, _ := inside.([]any)
	for _, each := range list {
		if uses(each, path[1:]) {
			return true
		}
	}
	return false
}
