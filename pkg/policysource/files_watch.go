package policysource

import (
	"context"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

const (
	// settleTime is how long files must be left alone before they are read: writing one
	// takes more than one step.
	settleTime = 200 * time.Millisecond
	// mostSettling is how long that may take if somebody writes all the time.
	mostSettling = 2 * time.Second
	// steadyReading is how far two equal readings of a text must be apart for it to be steady:
	// a writer that takes longer over a line is not noticed.
	steadyReading = time.Second
	// pollTime is how often files are read although nothing was heard of them: not every
	// file system tells.
	pollTime = 10 * time.Second
)

// fileShelf follows the files. It is safe for concurrent use.
type fileShelf struct {
	files  files
	wake   func()
	clock  clock.Clock
	logger logr.Logger

	mu   sync.Mutex // guards what is below
	last filesReading
	read bool // last is one
	// first is when each text that is there was first read as it is.
	first map[Origin]time.Time
}

// snapshot adds what the files hold; false: they have not been read yet, or one may be half
// written.
func (f *fileShelf) snapshot(s *snapshot) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.texts = append(s.texts, f.last.texts...)
	s.complete = append(s.complete, f.last.complete...)
	s.gone = append(s.gone, f.last.gone...)
	s.within = f.files.argumentOf
	return f.read && len(f.last.withheld) == 0
}

// problems are why arguments cannot be read.
func (f *fileShelf) problems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last.problems
}

// run follows the files until ctx ends.
func (f *fileShelf) run(ctx context.Context) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		f.logger.Info("changes of files are noticed late", "reason", err.Error(), "after", pollTime.String())
		watcher = &fsnotify.Watcher{} // its channels are nil: nothing is heard
	} else {
		defer watcher.Close()
	}
	for ctx.Err() == nil {
		if err == nil {
			f.attend(watcher)
		}
		f.look()
		f.wait(ctx, watcher)
	}
}

// attend watches the folders of all files. Those that have been replaced are watched
// anew; what cannot be watched is found by looking.
func (f *fileShelf) attend(watcher *fsnotify.Watcher) {
	for _, argument := range f.files.arguments {
		for _, dir := range []string{argument, filepath.Dir(filepath.Clean(argument))} {
			if err := watcher.Add(dir); err != nil {
				f.logger.V(1).Info("a file or folder cannot be watched", "path", dir, "reason", err.Error())
			}
		}
	}
}

// look reads the files, and tells if they are not as before.
func (f *fileShelf) look() {
	next := f.files.read()
	f.mu.Lock()
	f.compare(&next)
	news, problems := !f.read || !next.same(f.last), !slices.Equal(next.problems, f.last.problems)
	f.last, f.read = next, true
	f.mu.Unlock()
	if !news {
		return
	}
	for _, problem := range next.problems {
		if problems {
			f.logger.Info("policies cannot be read; what they made stays", "reason", problem)
		}
	}
	f.wake()
}

// compare says of the texts of a reading which are steady. mu is held.
func (f *fileShelf) compare(next *filesReading) {
	now, before, shown := f.clock.Now(), map[Origin]string{}, map[Origin]bool{}
	for _, t := range f.last.withheld {
		before[t.origin] = t.digest
	}
	for _, t := range f.last.texts {
		before[t.origin], shown[t.origin] = t.digest, true
	}
	first := map[Origin]time.Time{}
	for i := range next.texts {
		t := &next.texts[i]
		first[t.origin] = now
		if before[t.origin] == t.digest {
			first[t.origin] = f.first[t.origin]
		}
		t.steady = t.steady || now.Sub(first[t.origin]) >= steadyReading
	}
	f.first = first
	next.withhold(shown)
}

// withhold takes out the texts that may be half written and are not shown yet: what an earlier
// run of Ambit has made of the whole text would be removed.
func (r *filesReading) withhold(shown map[Origin]bool) {
	r.texts = slices.DeleteFunc(r.texts, func(t text) bool {
		withheld := t.fresh && !t.steady && !shown[t.origin]
		if withheld {
			r.withheld = append(r.withheld, t)
		}
		return withheld
	})
}

// again is how long the last reading holds without news: shortly, where a text is not steady.
func (f *fileShelf) again() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last.withheld) > 0 || slices.ContainsFunc(f.last.texts, func(t text) bool { return !t.steady }) {
		return steadyReading
	}
	return pollTime
}

// wait returns when files may have changed and are left alone, or it is time to look.
func (f *fileShelf) wait(ctx context.Context, watcher *fsnotify.Watcher) {
	poll := f.clock.NewTimer(f.again())
	defer poll.Stop()
	select {
	case <-ctx.Done():
		return
	case <-poll.C():
		return
	case <-watcher.Errors:
		return // some events are lost
	case <-watcher.Events:
	}
	end := f.clock.NewTimer(mostSettling)
	defer end.Stop()
	for {
		quiet := f.clock.NewTimer(settleTime)
		select {
		case <-watcher.Events:
			quiet.Stop()
			continue
		case <-quiet.C():
		case <-end.C():
		case <-ctx.Done():
		}
		quiet.Stop()
		return
	}
}
