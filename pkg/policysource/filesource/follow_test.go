package filesource

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// TestWaitForChange: files are read when they are left alone for a moment, at the latest after a while, and also
// where nothing is heard of them.
func TestWaitForChange(t *testing.T) {
	steady, fresh := manifest.Manifest{Steady: true}, manifest.Manifest{}
	for name, c := range map[string]struct {
		reason string
		last   fileReading
		play   func(w *fsnotify.Watcher, cancel context.CancelFunc)
		want   time.Duration
	}{
		"Silence":  {reason: "not every file system tells", last: fileReading{manifests: []manifest.Manifest{steady}}, want: pollInterval},
		"Unsteady": {reason: "the second reading makes it steady", last: fileReading{manifests: []manifest.Manifest{steady, fresh}}, want: steadyInterval},
		"Withheld": {reason: "so does that of what is not shown yet", last: fileReading{withheld: []manifest.Manifest{fresh}}, want: steadyInterval},
		"OneEvent": {reason: "writing takes more than one step", want: 3*time.Second + settlePeriod,
			play: func(w *fsnotify.Watcher, _ context.CancelFunc) {
				time.Sleep(3 * time.Second)
				w.Events <- fsnotify.Event{}
			}},
		"Burst": {reason: "an unpacked archive is one change", want: 5*150*time.Millisecond + settlePeriod,
			play: func(w *fsnotify.Watcher, _ context.CancelFunc) {
				for range 5 {
					time.Sleep(150 * time.Millisecond)
					w.Events <- fsnotify.Event{}
				}
			}},
		"Endless": {reason: "somebody who writes all the time does not hold up the others", want: 100*time.Millisecond + maxSettling,
			play: func(w *fsnotify.Watcher, _ context.CancelFunc) {
				for range 21 {
					time.Sleep(100 * time.Millisecond)
					select {
					case w.Events <- fsnotify.Event{}:
					default:
					}
				}
			}},
		"Overflow": {reason: "events are lost, and nobody knows which", want: time.Second,
			play: func(w *fsnotify.Watcher, _ context.CancelFunc) {
				time.Sleep(time.Second)
				w.Errors <- fsnotify.ErrEventOverflow
			}},
		"End": {reason: "Ambit ends", want: time.Second, play: func(_ *fsnotify.Watcher, cancel context.CancelFunc) { time.Sleep(time.Second); cancel() }},
		"EndInBurst": {reason: "nor does it wait then until files are left alone", want: time.Second + 50*time.Millisecond,
			play: func(w *fsnotify.Watcher, cancel context.CancelFunc) {
				time.Sleep(time.Second)
				w.Events <- fsnotify.Event{}
				time.Sleep(50 * time.Millisecond)
				cancel()
			}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				watcher := &fsnotify.Watcher{Events: make(chan fsnotify.Event), Errors: make(chan error)}
				s := &Source{clock: clock.RealClock{}, last: c.last}
				if c.play != nil {
					go c.play(watcher, cancel)
				}
				began := time.Now()
				s.waitForChange(ctx, watcher)
				if took := time.Since(began); took != c.want {
					t.Errorf("%s: it waited %s, want %s", c.reason, took, c.want)
				}
			})
		})
	}
}

// TestNewsOfReadings: who waits is woken when something is another, and what cannot be read is logged when that changes.
func TestNewsOfReadings(t *testing.T) {
	f := folder{T: t, dir: t.TempDir()}
	now := clocktesting.NewFakeClock(time.Now())
	woken, logged := 0, []string{}
	s, err := New(Options{
		Arguments: []string{f.dir + "/d", f.dir + "/e"}, Clock: now, Wake: func() { woken++ },
		Logger: funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{}),
	})
	must(t, err)
	s.reader.isFresh = nil
	f.mkdir("e")
	line := func(argument string) string {
		return fmt.Sprintf(`"level"=0 "msg"="policies cannot be read; what they made stays" "reason"="%[1]s/%[2]s: stat %[1]s/%[2]s: no such file or directory"`, f.dir, argument)
	}
	for _, step := range []struct {
		name     string
		do       func()
		wakes    int
		logs     []string
		problems int
	}{
		{name: "the first reading is news", do: func() {}, wakes: 1, logs: []string{line("d")}, problems: 1},
		{name: "the same again is none", do: func() {}, problems: 1},
		{name: "a file comes beside it", do: func() { f.write("e/b.yaml", "x") }, wakes: 1, problems: 1},
		{name: "another folder goes", do: func() { must(t, os.RemoveAll(filepath.Join(f.dir, "e"))) }, wakes: 1, logs: []string{line("d"), line("e")}, problems: 2},
		{name: "both come", do: func() { f.mkdir("d"); f.mkdir("e") }, wakes: 1},
		{name: "a file comes", do: func() { f.write("d/a.yaml", "x") }, wakes: 1},
		{name: "it becomes steady", do: func() {}, wakes: 1},
		{name: "it is touched", do: func() { f.write("d/a.yaml", "x") }},
		{name: "another text of the same size", do: func() { f.write("d/a.yaml", "y") }, wakes: 1},
		{name: "and another one before that is steady", do: func() { f.write("d/a.yaml", "z") }, wakes: 1},
		{name: "that becomes steady too", do: func() {}, wakes: 1},
		{name: "the file moves", do: func() { must(t, os.Rename(filepath.Join(f.dir, "d/a.yaml"), filepath.Join(f.dir, "e/a.yaml"))) }, wakes: 1},
	} {
		woken, logged = 0, nil
		step.do()
		now.Step(steadyInterval)
		s.readAndCompare()
		if woken != step.wakes || len(s.ReadProblems()) != step.problems {
			t.Errorf("%s: it woke %d times, want %d; problems: %q", step.name, woken, step.wakes, s.ReadProblems())
		}
		if diff := cmp.Diff(step.logs, logged); diff != "" {
			t.Errorf("%s: the log (-want +got):\n%s", step.name, diff)
		}
	}
}

// TestStart: a folder that comes, is replaced by another one, and goes, is heard of, and read when it is left alone. No
// time passes but what follows an event: nothing here is found by polling.
func TestStart(t *testing.T) {
	if watcher, err := fsnotify.NewWatcher(); err != nil {
		t.Skip("nothing is heard of files here:", err)
	} else if err := watcher.Close(); err != nil {
		t.Fatal(err)
	}
	f := folder{T: t, dir: t.TempDir()}
	now := clocktesting.NewFakeClock(time.Now())
	s, err := New(Options{Arguments: []string{f.dir + "/d"}, Clock: now, Wake: func() {}})
	must(t, err)
	s.reader.isFresh = nil
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); s.Start(ctx) }()
	for _, step := range []struct {
		name string
		do   func()
		want []string // texts
	}{
		{name: "nothing is there", do: func() {}},
		{name: "a folder comes with a file", do: func() { f.write("new/a.yaml", "x"); must(t, os.Rename(f.dir+"/new", f.dir+"/d")) }, want: []string{"x"}},
		{name: "a file in it changes", do: func() { f.write("d/a.yaml", "y") }, want: []string{"y"}},
		{name: "the folder is replaced", do: func() {
			f.write("new/a.yaml", "z")
			must(t, os.Rename(f.dir+"/d", f.dir+"/old"))
			must(t, os.Rename(f.dir+"/new", f.dir+"/d"))
		}, want: []string{"z"}},
		{name: "the old one does not matter", do: func() { f.write("old/b.yaml", "old"); f.write("d/c.yaml", "c") }, want: []string{"z", "c"}},
		{name: "the folder goes", do: func() { must(t, os.RemoveAll(f.dir+"/d")) }},
	} {
		step.do()
		var got []string
		err := wait.PollUntilContextTimeout(ctx, time.Millisecond, 30*time.Second, true, func(context.Context) (bool, error) {
			if now.Waiters() > 1 { // it polls, and waits until the files are left alone
				now.Step(settlePeriod)
			}
			var shown manifest.Snapshot
			isRead := s.AddTo(&shown)
			got = nil
			for _, m := range shown.Manifests {
				got = append(got, string(m.Data))
			}
			return isRead && cmp.Equal(step.want, got), nil
		})
		if err != nil {
			t.Fatalf("%s: it has %q, want %q: %v", step.name, got, step.want, err)
		}
	}
	cancel()
	<-done
}
