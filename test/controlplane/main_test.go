package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParseUser(t *testing.T) {
	for in, want := range map[string]user{
		"alice":                {name: "alice"},
		"alice=":               {name: "alice"},
		"bob@example.com=a,b":  {name: "bob@example.com", groups: []string{"a", "b"}},
		"system:x=system:some": {name: "system:x", groups: []string{"system:some"}},
	} {
		got, err := parseUser(in)
		if err != nil || got.name != want.name || !slices.Equal(got.groups, want.groups) {
			t.Errorf("parseUser(%q) = %+v, %v; want %+v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "=a", "a/b", "../a", "a,b", "a=b,", "a\n", `a"`} {
		if got, err := parseUser(in); err == nil {
			t.Errorf("parseUser(%q) = %+v, want an error", in, got)
		}
	}
}

func TestParseUpRefuses(t *testing.T) {
	for _, args := range []string{
		"extra", "--nodes=-1", "--nodes=x", "--without=etcd", "--without=kwok,", "--user=admin", "--user=kwok",
		"--user=a --user=a", "--nothing",
	} {
		var bad usageError
		if _, err := parseUp(strings.Fields(args)); !errors.As(err, &bad) {
			t.Errorf("up %s: %v, want a mistake on the command line", args, err)
		}
	}
}

// TestLinkFlags: the version comes from the pin, in the parts clients parse.
func TestLinkFlags(t *testing.T) {
	flags, err := linkFlags()
	if err != nil {
		t.Fatal(err)
	}
	pin := "k8s.io/kubernetes v1.36.3"
	if !strings.Contains(string(goMod), pin) {
		t.Fatalf("go.mod does not pin %q: adapt this test", pin)
	}
	for _, want := range []string{"client-go/pkg/version.gitVersion=v1.36.3 ", "component-base/version.gitMinor=36 "} {
		if !strings.Contains(flags, want) {
			t.Errorf("flags %q lack %q", flags, want)
		}
	}
}

// TestCurrent: what was built from other pins or flags, or is gone, is not
// current.
func TestCurrent(t *testing.T) {
	dir := t.TempDir()
	out, stamp := filepath.Join(dir, "etcd"), filepath.Join(dir, "stamp")
	want := fingerprint([]string{"build", "etcd"})
	steps := []struct {
		reason string
		do     func() error
		want   bool
	}{
		{"nothing is there", func() error { return nil }, false},
		{"a binary without a mark", func() error { return os.WriteFile(out, nil, 0o755) }, false},
		{"a mark of other flags", func() error { return os.WriteFile(stamp, []byte(fingerprint([]string{"build"})), 0o644) }, false},
		{"its own mark", func() error { return os.WriteFile(stamp, []byte(want), 0o644) }, true},
		{"a mark without a binary", func() error { return os.Remove(out) }, false},
	}
	for _, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		if got := current(out, stamp, want); got != step.want {
			t.Errorf("%s: current is %v", step.reason, got)
		}
	}
}

// TestLocate: a provided binary goes before a built one, and the error names all
// that are missing.
func TestLocate(t *testing.T) {
	assets, bin := t.TempDir(), t.TempDir()
	for _, path := range []string{filepath.Join(assets, etcd), filepath.Join(bin, etcd), filepath.Join(bin, kwok)} {
		if err := os.WriteFile(path, nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("KUBEBUILDER_ASSETS", t.TempDir()+string(filepath.ListSeparator)+assets)
	found, err := locate(bin, []string{etcd, kwok})
	if err != nil || found[etcd] != filepath.Join(assets, etcd) || found[kwok] != filepath.Join(bin, kwok) {
		t.Errorf("locate = %v, %v", found, err)
	}
	_, err = locate(bin, []string{etcd, apiServer, scheduler})
	if err == nil || !strings.Contains(err.Error(), "kube-apiserver, kube-scheduler") || !strings.Contains(err.Error(), "make controlplane") {
		t.Errorf("error %v, want the missing ones and what to run", err)
	}
}

func TestMakeDir(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	if got, err := makeDir(dir); err != nil || got != dir {
		t.Fatalf("makeDir = %q, %v", got, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "precious"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	var bad usageError
	if _, err := makeDir(dir); !errors.As(err, &bad) {
		t.Errorf("makeDir in a folder with files: %v, want a refusal", err)
	}
}
