package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ambit-dev/ambit/test/bench/report"
	"github.com/ambit-dev/ambit/test/bench/stage"
)

// kroGroup is the group of the kind that kro makes of graph.
const kroGroup = "kro.example.com"

// graph is the operator as kro is told of it.
//
//go:embed memcached.rgd.yaml
var graph []byte

// The pin of kro and what is built of it.
const (
	pins       = "test/peers"
	kroModule  = "github.com/kubernetes-sigs/kro"
	kroProgram = kroModule + "/cmd/controller"
)

// newKro is kro with more flags than those of its chart, built if need be. Its definitions are read in its module.
func newKro(ctx context.Context, o options, more ...string) (side, error) {
	module, err := findModule(ctx)
	if err != nil {
		return side{}, absentError{"kro", err}
	}
	binary, err := buildKro(ctx, module, o.Bin)
	if err != nil {
		return side{}, absentError{"kro", err}
	}
	kinds, err := module.readKinds()
	if err != nil {
		return side{}, absentError{"kro", err}
	}
	command := []string{
		binary, "--metrics-bind-address=0", "--health-probe-bind-address=0",
		// As its chart has it, in place of the log of a developer.
		"--zap-devel=false", "--zap-log-level=info", "--zap-encoder=console",
	}
	return side{
		what: "kro " + module.Version, command: append(command, more...),
		kinds: append(kinds, graph), group: kroGroup, rules: kroRules(),
	}, nil
}

// kroRules are the rights that kro's chart gives it, and those on what graph has.
func kroRules() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		stage.Rule("kro.run", "*", "*"),
		stage.Rule("internal.kro.run", "*", "*"),
		stage.Rule("apiextensions.k8s.io", "customresourcedefinitions", "create", "get", "list", "watch", "patch", "update", "delete"),
		stage.Rule("", "events", "create", "patch"),
		stage.Rule(kroGroup, "*", "*"),
		stage.ChildRule("apps", "deployments"),
		stage.Rule("", "pods", "get", "list", "watch"),
	}
}

// goModule is a module in the module cache.
type goModule struct{ Version, Dir string }

// findModule returns kro's module as it is pinned, and downloads it if need be.
func findModule(ctx context.Context) (goModule, error) {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", kroModule)
	download.Dir = filepath.FromSlash(pins)
	var problem bytes.Buffer
	download.Stderr = &problem
	text, err := download.Output()
	if err != nil {
		return goModule{}, fmt.Errorf("downloading %s: %w: %s%s", kroModule, err, text, problem.Bytes())
	}
	var module goModule
	if err := json.Unmarshal(text, &module); err != nil {
		return goModule{}, fmt.Errorf("downloading %s: %w", kroModule, err)
	}
	return module, nil
}

// readKinds returns the definitions of kro's own kinds.
func (m goModule) readKinds() ([][]byte, error) {
	files, err := filepath.Glob(filepath.Join(m.Dir, "helm", "crds", "*.yaml"))
	if err != nil {
		return nil, fmt.Errorf("looking for the kinds of kro: %w", err)
	}
	if len(files) == 0 {
		return nil, errors.New("its module has no definitions in helm/crds")
	}
	kinds := make([][]byte, len(files))
	for i, file := range files {
		if kinds[i], err = os.ReadFile(file); err != nil {
			return nil, fmt.Errorf("reading the kinds of kro: %w", err)
		}
	}
	return kinds, nil
}

// buildKro returns the path of kro's binary in the folder, and builds it unless it is there and of
// this version.
func buildKro(ctx context.Context, module goModule, bin string) (string, error) {
	binary, err := filepath.Abs(filepath.Join(bin, "kro"))
	if err != nil {
		return "", fmt.Errorf("finding folder %q: %w", bin, err)
	}
	if builtVersion(binary) == module.Version {
		return binary, nil
	}
	report.Progress("building kro %s (2 to 6 minutes the first time)", module.Version)
	done := sayEvery(30*time.Second, "still building kro")
	defer done()
	build := exec.CommandContext(ctx, "go", "build", "-mod=readonly", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", binary, kroProgram)
	build.Dir = filepath.FromSlash(pins)
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off")
	if said, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building it: %w: %s", err, said)
	}
	return binary, nil
}

// builtVersion returns the version of kro in a binary, "" if it is none of it.
func builtVersion(binary string) string {
	info, err := buildinfo.ReadFile(binary)
	if err != nil || info.Path != kroProgram {
		return ""
	}
	if info.Main.Path == kroModule {
		return info.Main.Version
	}
	for _, dependency := range info.Deps {
		if dependency.Path == kroModule {
			return dependency.Version
		}
	}
	return ""
}

// sayEvery says something again and again until the function that it returns is called.
func sayEvery(pause time.Duration, what string) (done func()) {
	began, end, ended := time.Now(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(pause)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				report.Progress("%s, %s so far", what, time.Since(began).Round(time.Second))
			case <-end:
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}
