package suites

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/ambit-dev/ambit/test/suites/constructor"
)

// stopTimeout is how long a suite that is interrupted may take to stop its control plane.
const stopTimeout = 30 * time.Second

// suite is a package of upstream whose cases are run.
type suite struct {
	name string
	pkg  string // its path in the module
	// clients: clients are made with the constructor of package constructor as well.
	clients bool
}

// suites returns those that make caches or managers. The consistent client is there twice: as
// controller-runtime makes it, on the cache of the constructor, and with Ambit's in its place.
func suites() []suite {
	return []suite{
		{name: "cache", pkg: "pkg/cache"},
		{name: "source", pkg: "pkg/source"},
		{name: "controller", pkg: "pkg/controller"},
		{name: "builder", pkg: "pkg/builder"},
		{name: "consistency", pkg: "pkg/client"},
		{name: "writes", pkg: "pkg/client", clients: true},
	}
}

// run is how a suite is run.
type run struct {
	constructor string   // one of package constructor
	files       []string // regular expressions for the files whose cases are run; nil for all
	cases       string   // a regular expression for the texts of cases; "" for all
	seed        int      // of the order of cases, not 0
	servers     []string // environment with the paths of the servers
	dir         string   // the suite's package in the copy
	function    string   // the Go test that runs the suite
	artifacts   string   // a folder for the output and the report
	progress    func(line string)
}

// start runs the suite that is built as binary and returns what ginkgo reports, also when cases
// have failed. When ctx ends the suite is interrupted, and reports what it has done.
func (r run) start(ctx context.Context, binary string) (*report, error) {
	file := filepath.Join(r.artifacts, "report.json")
	args := []string{"-test.run=^" + r.function + "$", "-test.timeout=0", fmt.Sprintf("-ginkgo.seed=%d", r.seed), "-ginkgo.no-color", "-ginkgo.succinct",
		"-ginkgo.poll-progress-after=60s", "-ginkgo.json-report=" + file, "-ginkgo.focus=" + r.cases}
	for _, expression := range r.files {
		args = append(args, "-ginkgo.focus-file="+expression)
	}
	output, err := os.Create(filepath.Join(r.artifacts, "output.txt"))
	if err != nil {
		return nil, fmt.Errorf("keeping the output: %w", err)
	}
	defer output.Close()
	tail := &lastLines{each: r.progress}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir = r.dir
	cmd.Env = append(append(os.Environ(), r.servers...), constructor.Variable+"="+r.constructor)
	cmd.Stdout, cmd.Stderr = io.MultiWriter(output, tail), io.MultiWriter(output, tail)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = stopTimeout
	ran := cmd.Run()
	found, err := readReport(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("the suite ended without a report: %w\n%s", ran, tail)
	}
	if err == nil {
		found.exit, found.races = ran, tail.races
	}
	return found, err
}

// lastLines keeps the last lines that are written, counts what the race detector has found, and hands
// on lines that are of a case.
type lastLines struct {
	each    func(line string)
	partial []byte
	lines   []string
	races   int
}

// Write implements io.Writer; it is called by one goroutine at a time.
func (l *lastLines) Write(data []byte) (int, error) {
	l.partial = append(l.partial, data...)
	for {
		line, rest, whole := bytes.Cut(l.partial, []byte("\n"))
		if !whole {
			return len(data), nil
		}
		l.partial = rest
		if of, ok := strings.CutPrefix(string(line), caseLine); ok {
			l.each(of)
		}
		if strings.Contains(string(line), "WARNING: DATA RACE") {
			l.races++
		}
		l.lines = append(l.lines, string(line))
		l.lines = l.lines[max(0, len(l.lines)-100):]
	}
}

// String returns the last hundred lines and what has no end yet.
func (l *lastLines) String() string {
	return strings.Join(append(slices.Clone(l.lines), string(l.partial)), "\n")
}

// findServers returns the environment that tells envtest where its servers are: in a folder of
// $KUBEBUILDER_ASSETS, which is a list as $PATH is, or in bin. It waits for them longer than the 20 s that it
// waits by itself: beside other tests on two cores an API server has taken as much.
func findServers(bin string) ([]string, error) {
	environment := []string{
		"USE_EXISTING_CLUSTER=false", "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=3m", "KUBEBUILDER_CONTROLPLANE_STOP_TIMEOUT=1m",
	}
	for _, server := range []struct{ variable, name string }{
		{"TEST_ASSET_ETCD", "etcd"}, {"TEST_ASSET_KUBE_APISERVER", "kube-apiserver"},
	} {
		path, err := findServer(bin, server.name)
		if err != nil {
			return nil, err
		}
		environment = append(environment, server.variable+"="+path)
	}
	return environment, nil
}

func findServer(bin, name string) (string, error) {
	for _, dir := range append(filepath.SplitList(os.Getenv("KUBEBUILDER_ASSETS")), bin) {
		path := filepath.Join(dir, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("there is no %s in %q: run make controlplane", name, bin)
}
