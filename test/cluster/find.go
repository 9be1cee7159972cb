package cluster

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// findProgram returns the path of bin/controlplane in this repository. The
// program itself says which of its servers are missing.
func findProgram() (string, error) {
	root, err := findRoot()
	if err != nil {
		return "", err
	}
	program := filepath.Join(root, "bin", "controlplane")
	if _, err := os.Stat(program); errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("there is no %q: run make controlplane", program)
	} else if err != nil {
		return "", fmt.Errorf("looking for the control plane: %w", err)
	}
	return program, nil
}

// findRoot returns the folder of Ambit's go.mod at or above the working
// directory, which for a test is its package.
func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("finding the working directory: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		data, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && strings.HasPrefix(string(data), "module github.com/ambit-dev/ambit\n") {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("there is no go.mod of Ambit at or above %q", start)
		}
	}
}
