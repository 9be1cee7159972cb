package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// small is a control plane of etcd and API server only.
var small = Options{Without: []string{"kube-controller-manager", "kube-scheduler", "kwok"}}

// TestStop: nothing of a control plane is left, also of two that start together.
func TestStop(t *testing.T) {
	t.Parallel()
	var starts sync.WaitGroup
	for range 2 {
		starts.Go(func() {
			c, err := Start(t.Context(), small)
			if err != nil {
				t.Error(err)
				return
			}
			if len(c.process.pids) != 2 {
				t.Errorf("servers %v, want 2", c.process.pids)
			}
			for range 2 {
				if err := c.Stop(); err != nil {
					t.Error(err)
				}
			}
			if left := living(c.process.pids); len(left) > 0 {
				t.Errorf("after Stop these live: %v", left)
			}
			if _, err := os.Stat(c.process.dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("after Stop its folder: %v", err)
			}
		})
	}
	starts.Wait()
}

// TestServerDies: the control plane ends with any of its servers, and Stop says
// which and why.
func TestServerDies(t *testing.T) {
	t.Parallel()
	var said bytes.Buffer
	o := small
	o.Stderr = &said
	c, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(c.process.pids["etcd"], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	<-c.process.exited
	if err := c.Stop(); err == nil || !strings.Contains(err.Error(), "etcd has ended") {
		t.Errorf("Stop: %v, want that etcd has ended", err)
	}
	if left := living(c.process.pids); len(left) > 0 {
		t.Errorf("these live: %v", left)
	}
	if !strings.Contains(said.String(), "started kube-apiserver") {
		t.Errorf("Options.Stderr got %q", said.String())
	}
}

// TestProgramIsKilled: servers do not outlive the program that started them.
func TestProgramIsKilled(t *testing.T) {
	t.Parallel()
	c, err := Start(t.Context(), small)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(c.process.dir) }) // nobody else is left to do it
	if err := c.process.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "all servers have ended", func(context.Context) error {
		if left := living(c.process.pids); len(left) > 0 {
			return fmt.Errorf("these live: %v", left)
		}
		return nil
	})
	if err := c.Stop(); err == nil {
		t.Error("Stop does not tell that the program was killed")
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	ended, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("no time")
	cancel(cause)
	if _, err := Start(ended, small); !errors.Is(err, cause) {
		t.Errorf("with an ended context: %v, want %v", err, cause)
	}
	for reason, tc := range map[string]struct {
		options Options
		want    string
	}{
		"a server that is needed":  {Options{Without: []string{"etcd"}}, `--without "etcd"`},
		"a name with odd letters":  {Options{Users: map[string][]string{"a,b": nil}}, "characters"},
		"a name of its own":        {Options{Users: map[string][]string{"admin": nil}}, `--user "admin"`},
		"less than nothing":        {Options{Nodes: -1}, "--nodes -1"},
		"the name of its own user": {Options{Users: map[string][]string{"system:kwok": nil}}, "uses itself"},
	} {
		if _, err := Start(t.Context(), tc.options); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", reason, err, tc.want)
		}
	}
}

// living are those of the processes that run. A process that has ended and that
// nobody has waited for does not.
func living(pids map[string]int) []string {
	var names []string
	for name, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		_, after, _ := bytes.Cut(stat, []byte(") "))
		if err != nil || !bytes.HasPrefix(after, []byte("Z")) {
			names = append(names, name)
		}
	}
	return names
}
