package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/test/freeport"
)

// TestPruneAPIServerRestarts: the API server that Ambit talks to is killed, the list is
// shortened meanwhile, and the server starts again, is killed once more when it has
// carried out the first deletion and before it says so, and starts again. Exactly the
// right objects are deleted, once. The owner is deleted while the server is away: all
// of its objects go. It fails if what a server says while it starts (nothing is
// permitted, no kind is there, all lists are empty) is taken for the truth.
func TestPruneAPIServerRestarts(t *testing.T) {
	t.Parallel()
	p := newPruning(t, "")
	server := newSecondServer(p.world)
	server.start()
	server.ready()
	p.config.Host = server.host
	p.run()
	a, b := p.all("a"), p.all("b")
	p.isReady()

	server.kill()
	p.items("a")
	killed := make(chan struct{})
	var once sync.Once
	p.sent.hook(nil, func(r *http.Request, _ []byte) (err error) {
		if r.Method == http.MethodDelete {
			once.Do(func() {
				server.kill()
				close(killed)
				err = errors.New("the reply is lost")
			})
		}
		return err
	})
	server.start()
	p.eventually("the other API server is ready, or is killed again", func(ctx context.Context) error {
		select {
		case <-killed:
			return nil
		default:
			return server.isReady(ctx)
		}
	})
	p.eventually("a deletion is carried out", func(context.Context) error {
		select {
		case <-killed:
			return nil
		default:
			return fmt.Errorf("none was; the owner: %s", p.ownerText(t.Context()))
		}
	})
	p.has("a", "while the API server is away", a)
	p.has("b", "while the API server is away", pruneBut(b, "boxes", "marks"))
	server.start()
	server.ready()
	p.comesTo("b", pruneOnly(b, "left"))
	p.isReady()
	p.has("a", "after the API server has started again", a)
	want := []string{"boxes box-b", "clusterroles " + p.name + "-b", "configmaps far-b", "secrets near-b"}
	if diff := cmp.Diff(want, server.deletions(p.user)); diff != "" {
		t.Errorf("what was deleted, in this order (-want +got):\n%s", diff)
	}

	server.kill()
	p.deleteOwner(p.home, "one")
	server.start()
	server.ready()
	p.isGone()
	p.leaves(a, b)
}

// secondServer is one more API server on the same etcd, which can be killed without
// taking the control plane with it.
type secondServer struct {
	w                         *world
	program, dir, audit, host string
	args                      []string

	mu sync.Mutex
	// The rest is guarded by mu: a request of Ambit's may kill the server, too.
	cmd    *exec.Cmd
	exited chan struct{}
}

// newSecondServer has the arguments of the API server that runs, but for its port and
// its audit log.
func newSecondServer(w *world) *secondServer {
	w.t.Helper()
	address, err := url.Parse(w.control.Admin().Host)
	if err != nil {
		w.t.Fatal(err)
	}
	pid, args := findServer(w.t, "--secure-port="+address.Port())
	s := &secondServer{w: w, audit: filepath.Join(w.t.TempDir(), "audit.log")}
	for name, to := range map[string]*string{"exe": &s.program, "cwd": &s.dir} {
		if *to, err = os.Readlink("/proc/" + pid + "/" + name); err != nil {
			w.t.Fatal(err)
		}
	}
	free := freeport.ForTest(w.t)
	s.host = "https://" + free
	_, port, err := net.SplitHostPort(free)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, arg := range args {
		switch {
		case strings.HasPrefix(arg, "--secure-port="):
			arg = "--secure-port=" + port
		case strings.HasPrefix(arg, "--audit-log-path="):
			arg = "--audit-log-path=" + s.audit
		}
		s.args = append(s.args, arg)
	}
	w.t.Cleanup(s.kill)
	return s
}

// findServer finds the process that has an argument.
func findServer(t *testing.T, argument string) (pid string, args []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		words := strings.Split(strings.TrimRight(string(data), "\x00"), "\x00")
		if slices.Contains(words, argument) && filepath.Base(words[0]) == "kube-apiserver" {
			return filepath.Base(filepath.Dir(file)), words[1:]
		}
	}
	t.Fatalf("no kube-apiserver has the argument %s", argument)
	return "", nil
}

// start starts the server and does not wait until it is ready. It dies with this
// program.
func (s *secondServer) start() {
	s.w.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cmd, s.exited = exec.Command(s.program, s.args...), make(chan struct{})
	s.cmd.Dir = s.dir
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func(cmd *exec.Cmd, exited chan struct{}) {
		runtime.LockOSThread() // the thread whose end is the server's
		defer close(exited)
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it says that the server was killed, as it should be
		}
	}(s.cmd, s.exited)
	if err := <-started; err != nil {
		s.w.t.Fatalf("starting another API server: %v", err)
	}
}

// kill ends the server at once, if it runs.
func (s *secondServer) kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill() // the one error there is says that it has ended
	<-s.exited
}

func (s *secondServer) ready() {
	s.w.t.Helper()
	s.w.eventually("the other API server is ready", s.isReady)
}

func (s *secondServer) isReady(ctx context.Context) error {
	config := rest.CopyConfig(s.w.control.Admin())
	config.Host = s.host
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	return client.RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
}

// deletions are what a user has deleted by this server, in the order of its log.
func (s *secondServer) deletions(user string) []string {
	s.w.t.Helper()
	data, err := os.ReadFile(s.audit)
	if err != nil {
		s.w.t.Fatal(err)
	}
	var list []string
	for line := range bytes.Lines(data) {
		var e struct {
			Verb           string
			User           struct{ Username string }
			ObjectRef      struct{ Resource, Name string }
			ResponseStatus struct{ Code int }
		}
		if err := json.Unmarshal(line, &e); err != nil {
			continue // it was cut off when the server was killed
		}
		if e.Verb == "delete" && e.User.Username == user && e.ResponseStatus.Code < 300 {
			list = append(list, e.ObjectRef.Resource+" "+e.ObjectRef.Name)
		}
	}
	return list
}
