package policysource

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
)

// folderOfFiles is a folder, and an Ambit without a cluster that runs what is in it.
type folderOfFiles struct {
	*testing.T
	dir    string
	engine *fakeEngine
	source *Source
}

func newFolderOfFiles(t *testing.T, arguments ...string) *folderOfFiles {
	t.Helper()
	return runFiles(t, Options{}, arguments...)
}

func runFiles(t *testing.T, o Options, arguments ...string) *folderOfFiles {
	t.Helper()
	s := &folderOfFiles{T: t, dir: t.TempDir(), engine: newFakeEngine()}
	for i := range arguments {
		arguments[i] = filepath.Join(s.dir, arguments[i])
	}
	if len(arguments) == 0 {
		arguments = []string{s.dir}
	}
	var err error
	o.Files, o.Controller = arguments, s.engine
	if s.source, err = New(o); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.source.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *folderOfFiles) write(name, text string) {
	s.Helper()
	if err := os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

func (s *folderOfFiles) eventually(what string, check func() bool) {
	s.Helper()
	err := wait.PollUntilContextTimeout(s.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) { return check(), nil })
	if err != nil {
		s.Fatalf("waiting until %s; known: %+v", what, s.source.Policies())
	}
}

// runs waits until another version than before runs.
func (s *folderOfFiles) runs(id, before string) (hash string) {
	s.Helper()
	s.eventually(id+" runs another version", func() bool { hash = s.engine.hash(id); return hash != before })
	return hash
}

func (s *folderOfFiles) is(name string, state registry.State) {
	s.Helper()
	s.eventually(fmt.Sprintf("%s is %s", name, state), func() bool {
		for _, p := range s.source.Policies() {
			if p.Name == name {
				return p.State == state
			}
		}
		return false
	})
}

// TestFiles: files of a folder come, change, break and go.
func TestFiles(t *testing.T) {
	s := runFiles(t, Options{RetireRemovedFiles: true})
	s.eventually("it is ready without a policy", func() bool { ready, _ := s.source.Ready(); return ready })
	s.write("a.yaml", policytext.Document("cache v1"))
	s.write(".hidden.yaml", policytext.Document("hidden v1 owner=Hidden"))
	s.write("notes.txt", "not a policy")
	first := s.runs("cache", "")
	s.write("a.yaml", policytext.Document("cache v2 broken"))
	s.is("cache", registry.Invalid)
	if s.engine.hash("cache") != first {
		t.Error("the last good version does not run any more")
	}
	s.write("new", policytext.Document("cache v3")) // and is renamed, as editors do
	if err := os.Rename(filepath.Join(s.dir, "new"), filepath.Join(s.dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	s.runs("cache", first)
	if s.engine.hash("hidden") != "" {
		t.Error("a hidden file is read")
	}
	gone := time.Now() // or later: it is looked at from the removal on
	if err := os.Remove(filepath.Join(s.dir, "a.yaml")); err != nil {
		t.Fatal(err)
	}
	s.eventually("it is retired", func() bool { return s.engine.retires("cache") })
	if after := time.Since(gone); after < registry.DeletionGrace {
		t.Errorf("it is retired after %s already", after)
	}
	s.engine.clean("cache")
	s.eventually("nothing is left", func() bool { return len(s.source.Policies()) == 0 })
}

// TestFilesSwapped: the files of a ConfigMap's volume are links into a folder that is
// replaced as a whole.
func TestFilesSwapped(t *testing.T) {
	for name, argument := range map[string]string{"folder": "mount", "file": "mount/a.yaml"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFolderOfFiles(t, argument)
			mount := filepath.Join(s.dir, "mount")
			must(t, os.Mkdir(mount, 0o700))
			swap := func(version, words string) {
				must(t, os.Mkdir(filepath.Join(mount, "..v"+version), 0o700))
				s.write("mount/..v"+version+"/a.yaml", policytext.Document(words))
				must(t, os.Symlink("..v"+version, filepath.Join(mount, "..data_tmp")))
				must(t, os.Rename(filepath.Join(mount, "..data_tmp"), filepath.Join(mount, "..data")))
			}
			swap("1", "cache v1")
			must(t, os.Symlink("..data/a.yaml", filepath.Join(mount, "a.yaml")))
			first := s.runs("cache", "")
			told := s.engine.setCount()
			swap("2", "cache v2")
			must(t, os.RemoveAll(filepath.Join(mount, "..v1")))
			s.runs("cache", first)
			if n := s.engine.setCount() - told; n != 1 {
				t.Errorf("the engine was told %d times of one change", n)
			}
		})
	}
}

// TestFilesNotThere: a folder that is not there stops what was in it, and retires nothing;
// nor does one that is empty, as where a volume is not mounted.
func TestFilesNotThere(t *testing.T) {
	t.Parallel()
	s := newFolderOfFiles(t, "policies")
	s.eventually("it says that there is no folder", func() bool {
		ready, why := s.source.Ready()
		return ready && strings.Contains(why, "no such file or directory")
	})
	must(t, os.Mkdir(filepath.Join(s.dir, "policies"), 0o700))
	s.write("policies/a.yaml", policytext.Document("cache v1"))
	first := s.runs("cache", "")
	must(t, os.Rename(filepath.Join(s.dir, "policies"), filepath.Join(s.dir, "elsewhere")))
	s.is("cache", registry.Stopped)
	must(t, os.Mkdir(filepath.Join(s.dir, "policies"), 0o700))
	s.eventually("it reads the empty folder", func() bool { _, why := s.source.Ready(); return why == "" })
	s.is("cache", registry.Stopped)
	s.runs("cache", first)
	if s.engine.retires("cache") {
		t.Error("what is not there was taken for deleted")
	}
	must(t, os.Rename(filepath.Join(s.dir, "elsewhere", "a.yaml"), filepath.Join(s.dir, "policies", "a.yaml")))
	s.runs("cache", "")
	s.write("policies/a.yaml", policytext.Document("cache v1 retire"))
	s.eventually("it is retired", func() bool { return s.engine.retires("cache") })
	s.engine.clean("cache")
	s.eventually("it says so", func() bool {
		list := s.source.Policies()
		return len(list) == 1 && list[0].State == registry.Valid && !list[0].Retiring && len(s.source.NotReadyPolicies()) == 0
	})
}

// TestStdin: what is read from stdin stays.
func TestStdin(t *testing.T) {
	engine := newFakeEngine()
	s, err := New(Options{Files: []string{"-"}, In: strings.NewReader(policytext.Document("cache v1")), Controller: engine})
	must(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- s.Start(ctx) }()
	err = wait.PollUntilContextTimeout(t.Context(), 5*time.Millisecond, patience, true, func(context.Context) (bool, error) { return engine.hash("cache") != "", nil })
	cancel()
	must(t, errors.Join(err, <-done))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
