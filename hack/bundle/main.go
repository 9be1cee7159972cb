// Program bundle makes an OLM bundle (registry+v1) of the manifests of an
// installation: the definitions and what is left as they are, and the Deployment, its
// account and its rights as a ClusterServiceVersion. `make manifests` runs it:
//
//	bundle MANIFESTS FOLDER [VERSION [IMAGE]]
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// defaultVersion is that of a bundle that was not made for a release.
const defaultVersion = "0.1.0"

func main() {
	if len(os.Args) < 3 || len(os.Args) > 5 {
		fmt.Fprintln(os.Stderr, "usage: bundle MANIFESTS FOLDER [VERSION [IMAGE]]")
		os.Exit(2)
	}
	version, image := defaultVersion, ""
	if len(os.Args) > 3 {
		version = os.Args[3]
	}
	if len(os.Args) > 4 {
		image = os.Args[4]
	}
	if err := run(os.Args[1], os.Args[2], version, image); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// run replaces what is in folder. An empty image leaves that of the manifests.
func run(manifests, folder, version, image string) error {
	data, err := os.ReadFile(manifests)
	if err != nil {
		return err
	}
	all, err := decode(data)
	if err != nil {
		return fmt.Errorf("reading %q: %w", manifests, err)
	}
	files, err := makeBundle(all, version, image)
	if err != nil {
		return fmt.Errorf("making a bundle of %q: %w", manifests, err)
	}
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	for name, content := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
