package main

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// The pins of this module. They are part of the program, so that it builds the
// same servers wherever it runs.
var (
	//go:embed go.mod
	goMod []byte
	//go:embed go.sum
	goSum []byte
)

// The servers, under the names of their binaries.
const (
	etcd              = "etcd"
	apiServer         = "kube-apiserver"
	controllerManager = "kube-controller-manager"
	scheduler         = "kube-scheduler"
	kwok              = "kwok"
)

// server is one binary of a control plane.
type server struct {
	name, pkg string
	// takes is how long a first build takes on two cores, for people who wait.
	takes string
}

// servers returns all servers, quick builds first.
func servers() []server {
	return []server{
		{etcd, "go.etcd.io/etcd/server/v3", "about a minute"},
		{kwok, "sigs.k8s.io/kwok/cmd/kwok", "about a minute"},
		{apiServer, "k8s.io/kubernetes/cmd/kube-apiserver", "2 to 7 minutes"},
		{controllerManager, "k8s.io/kubernetes/cmd/kube-controller-manager", "1 to 2 minutes"},
		{scheduler, "k8s.io/kubernetes/cmd/kube-scheduler", "about half a minute"},
	}
}

// linkFlags are the -ldflags of every server. Clients parse the version that
// the API server reports, and a plain build reports none that parses.
func linkFlags() (string, error) {
	version := regexp.MustCompile(`(?m)^\s*k8s\.io/kubernetes (v(\d+)\.(\d+)\.\S+)`).FindSubmatch(goMod)
	if version == nil {
		return "", errors.New("go.mod does not pin k8s.io/kubernetes")
	}
	flags := "-s -w"
	for _, pkg := range []string{"k8s.io/component-base/version", "k8s.io/client-go/pkg/version"} {
		flags += fmt.Sprintf(" -X %[1]s.gitVersion=%[2]s -X %[1]s.gitMajor=%[3]s -X %[1]s.gitMinor=%[4]s"+
			" -X %[1]s.gitCommit=unknown -X %[1]s.gitTreeState=clean", pkg, version[1], version[2], version[3])
	}
	return flags, nil
}

// provided returns the path of a server in a folder of $KUBEBUILDER_ASSETS, or
// "" if it is in none. That variable is a list as $PATH is.
func provided(name string) string {
	for _, dir := range filepath.SplitList(os.Getenv("KUBEBUILDER_ASSETS")) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// locate returns the paths of the named servers: those provided, the others
// from bin. The error names all that are missing.
func locate(bin string, names []string) (map[string]string, error) {
	found, missing := map[string]string{}, []string{}
	for _, name := range names {
		path := provided(name)
		if path == "" {
			path = filepath.Join(bin, name)
		}
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			missing = append(missing, name)
		} else if err != nil {
			return nil, fmt.Errorf("looking for %s: %w", name, err)
		}
		absolute, err := filepath.Abs(path)
		if err != nil {
			return nil, fmt.Errorf("looking for %s: %w", name, err)
		}
		found[name] = absolute
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("%s missing in %q: run make controlplane", strings.Join(missing, ", "), bin)
	}
	return found, nil
}
