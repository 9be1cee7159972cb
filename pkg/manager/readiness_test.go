package manager

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/policysource"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/test/freeport"
)

// TestReadyWithoutAPIServer: an API server that takes connections and says nothing makes
// nobody ready; that is no reason to be killed.
func TestReadyWithoutAPIServer(t *testing.T) {
	w := newWorld(t)
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	address := freeport.ForTest(t)
	r := w.run(Options{Config: &rest.Config{Host: "http://" + silent.Addr().String()}, ProbeAddress: address})
	w.says("http://"+address+"/healthz", "", http.StatusOK)
	got := w.says("http://"+address+"/readyz", "", http.StatusServiceUnavailable)
	if !strings.HasPrefix(got.text, "starting: the API server has not answered yet") {
		t.Errorf("says %q", got.text)
	}
	r.stop()
	if r.err != nil && !errors.Is(r.err, context.Canceled) {
		t.Error(r.err)
	}
}

// TestReadyWithSources: ready is who has read the policies. The probe, which answers
// everybody, counts what is amiss; the metrics server names it.
func TestReadyWithSources(t *testing.T) {
	w := newWorld(t)
	folder := t.TempDir()
	data, err := os.ReadFile("../../policies/memcached.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "memcached.yaml"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "broken.yaml"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	address := freeport.ForTest(t)
	metrics := freeport.ForTest(t)
	r := w.run(Options{Namespaces: []string{w.namespace}, ProbeAddress: address, MetricsServer: MetricsServer{Address: metrics, Insecure: true},
		Sources: &Sources{Files: []string{folder}, ConfigMaps: true, Namespace: w.namespace}})
	got := w.says("http://"+address+"/readyz", "", http.StatusOK)
	if want := "ready: policies: 1\nnot all policies can be read\n"; !strings.HasPrefix(got.text, want) || !strings.Contains(got.text, " not ready\n") {
		t.Errorf("the probe says %q, want %q, and how many are not ready", got.text, want)
	}
	for _, name := range []string{"memcached", w.namespace, "configmaps", "Invalid"} {
		if strings.Contains(got.text, name) {
			t.Errorf("the probe says %q to everybody, and %q is in it", got.text, name)
		}
	}
	got = w.says("http://"+metrics+"/policies", "", http.StatusOK)
	for _, want := range []string{"ready: policies: 1\n", "configmaps", w.namespace, "\na policy without a name in a file is not ready: Invalid\n"} {
		if !strings.Contains(got.text, want) || strings.Contains(got.text, folder) {
			t.Errorf("the metrics server says %q, want %q, and no path", got.text, want)
		}
	}
	r.stop()
	if r.err != nil {
		t.Error(r.err)
	}
}

// TestNobodyThere: who is refused at once says so.
func TestNobodyThere(t *testing.T) {
	w := newWorld(t)
	r := w.run(Options{Config: &rest.Config{Host: "http://" + freeport.ForTest(t)}})
	if err := r.ends(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("it ends with %v", err)
	}
}

// TestReportWithoutNames: whatever the policies are called and wherever they are, the
// summary has their number only.
func TestReportWithoutNames(t *testing.T) {
	const secret = "payroll"
	r := report{}
	r.addShortfalls([]policysource.NotReady{
		{Origin: manifest.Origin{Kind: manifest.CustomResource, Namespace: secret, Name: secret}, Name: secret, Reason: "KindMissing"},
		{Origin: manifest.Origin{Kind: manifest.ConfigMap, Namespace: secret, Name: secret, Key: secret}, Name: secret, Reason: "Invalid"},
		{Origin: manifest.Origin{Kind: manifest.File, File: secret + ".yaml"}, Name: secret, Ready: true, Reason: "Forbidden"},
	})
	if want := []string{"2 policies are not ready", "1 policy cannot do all of its work"}; !slices.Equal(r.summary, want) {
		t.Errorf("the summary is %q, want %q", r.summary, want)
	}
	if len(r.names) != 3 || !strings.HasPrefix(r.names[0], "policy "+secret+" (reconcilepolicy ") {
		t.Errorf("the names are %q", r.names)
	}
}

// TestShortLines: each policy has a line, as many as there is room for.
func TestShortLines(t *testing.T) {
	list := []policysource.NotReady{
		{Origin: manifest.Origin{Kind: manifest.CustomResource, Namespace: "a", Name: "p"}, Name: "p", Reason: "Syncing"},
		{Origin: manifest.Origin{Kind: manifest.File, File: "dir/p.yaml"}, Name: "q", Ready: true, Reason: "Forbidden"},
	}
	for len(list) < mostShort+3 {
		list = append(list, list[1])
	}
	got := boundedLines(shortLines(list))
	if want := "policy p (reconcilepolicy a/p) is not ready: Syncing"; got[0] != want {
		t.Errorf("says %q, want %q", got[0], want)
	}
	if want := "policy q in a file cannot do all of its work: Forbidden"; got[1] != want {
		t.Errorf("says %q, want %q", got[1], want)
	}
	if want := "and 3 policies more"; len(got) != mostShort+1 || got[mostShort] != want {
		t.Errorf("ends with %q after %d lines, want %q", got[len(got)-1], len(got), want)
	}
}
