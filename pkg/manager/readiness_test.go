package manager

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/source"
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
	address := freeAddress(t)
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

// TestReadyWithSources: ready is who has read the policies, or says why not.
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
	address := freeAddress(t)
	r := w.run(Options{Namespaces: []string{w.namespace}, ProbeAddress: address,
		Sources: &Sources{Files: []string{folder}, ConfigMaps: true, Namespace: w.namespace}})
	got := w.says("http://"+address+"/readyz", "", http.StatusOK)
	if !strings.HasPrefix(got.text, "ready: policies: 1") || !strings.Contains(got.text, "configmaps") {
		t.Errorf("says %q, want one policy, and that ConfigMaps cannot be read", got.text)
	}
	if want := "\na policy without a name in a file is not ready: Invalid\n"; !strings.Contains(got.text, want) || strings.Contains(got.text, folder) {
		t.Errorf("says %q, want %q, and no path", got.text, want)
	}
	r.stop()
	if r.err != nil {
		t.Error(r.err)
	}
}

// TestNobodyThere: who is refused at once says so.
func TestNobodyThere(t *testing.T) {
	w := newWorld(t)
	r := w.run(Options{Config: &rest.Config{Host: "http://" + freeAddress(t)}})
	if err := r.ends(); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("it ends with %v", err)
	}
}

// TestShortLines: each policy has a line, as many as there is room for.
func TestShortLines(t *testing.T) {
	list := []source.Shortfall{
		{Origin: source.Origin{Kind: source.CustomResource, Namespace: "a", Name: "p"}, Name: "p", Reason: "Syncing"},
		{Origin: source.Origin{Kind: source.File, File: "dir/p.yaml"}, Name: "q", Ready: true, Reason: "Forbidden"},
	}
	for len(list) < mostShort+3 {
		list = append(list, list[1])
	}
	got := bounded(shortLines(list))
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
