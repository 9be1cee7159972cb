// Package filesource reads policies from files and folders, and again when they change.
//
// A file that is written while it is read must not drop a child, nor a policy. So a manifest is steady only when
// two readings a second apart found the same; the registry takes what lacks something only from a steady one. A
// file that was written just before Ambit started is withheld until it is steady.
package filesource

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

const (
	// settlePeriod is how long files must be left alone before they are read: writing one takes
	// more than one step.
	settlePeriod = 200 * time.Millisecond
	// maxSettling is how long that may take if somebody writes all the time.
	maxSettling = 2 * time.Second
	// steadyInterval is how far two equal readings of a file must be apart for it to be steady:
	// a writer that takes longer over a line is not noticed.
	steadyInterval = time.Second
	// pollInterval is how often files are read although nothing was heard of them: not every
	// file system tells.
	pollInterval = 10 * time.Second
)

// Options are the inputs of New.
type Options struct {
	// Arguments are files and folders, as -f names them; `-` is In, which is read once, by New.
	Arguments []string
	// In is required for `-`.
	In     io.Reader
	Logger logr.Logger
	// Clock is required.
	Clock clock.Clock
	// Wake is called when files have changed. It does not block.
	Wake func()
}

// Source reads files and folders, and again when they change. It is safe for concurrent use.
type Source struct {
	reader fileReader
	wake   func()
	clock  clock.Clock
	logger logr.Logger

	mu     sync.Mutex // guards what is below
	last   fileReading
	isRead bool // last is one
	// steadySince is when each manifest that is there was first read as it is.
	steadySince map[manifest.Origin]time.Time
}

// New returns a source that has read nothing but In.
func New(o Options) (*Source, error) {
	f := &Source{reader: fileReader{isFresh: wasJustWritten}, wake: o.Wake, clock: o.Clock, logger: o.Logger}
	for _, argument := range o.Arguments {
		if argument != "-" {
			f.reader.arguments = append(f.reader.arguments, argument)
			continue
		}
		if o.In == nil || f.reader.stdin != nil {
			return nil, fmt.Errorf("making the sources of policies: %q can be given once, and there must be an input", argument)
		}
		data, err := syntax.ReadText(o.In)
		if err != nil {
			return nil, fmt.Errorf("reading the policies on stdin: %w", err)
		}
		stdin := manifest.Manifest{Origin: manifest.Origin{Kind: manifest.File, File: "<stdin>"}, Data: data, Steady: true}.WithDigest()
		f.reader.stdin = &stdin
	}
	return f, nil
}

// AddTo adds what the files hold to a snapshot. It returns false if they have not been read yet, or
// one may be half written.
func (f *Source) AddTo(s *manifest.Snapshot) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	s.Manifests = append(s.Manifests, f.last.manifests...)
	s.Complete = append(s.Complete, f.last.complete...)
	s.Missing = append(s.Missing, f.last.missing...)
	s.ArgumentOf = f.reader.argumentOfFile
	return f.isRead && len(f.last.withheld) == 0
}

// ReadProblems returns why arguments cannot be read.
func (f *Source) ReadProblems() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.last.problems
}

// Start reads the files, and again when they change, until ctx ends.
func (f *Source) Start(ctx context.Context) {
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		f.logger.Info("changes of files are noticed late", "reason", err.Error(), "after", pollInterval.String())
		watcher = &fsnotify.Watcher{} // its channels are nil: nothing is heard
	} else {
		defer watcher.Close()
	}
	for ctx.Err() == nil {
		if err == nil {
			f.watchFolders(watcher)
		}
		f.readAndCompare()
		f.waitForChange(ctx, watcher)
	}
}

// watchFolders watches the folders of all files. Folders that have been replaced are watched anew. What
// cannot be watched is found by polling.
func (f *Source) watchFolders(watcher *fsnotify.Watcher) {
	for _, argument := range f.reader.arguments {
		for _, dir := range []string{argument, filepath.Dir(filepath.Clean(argument))} {
			if err := watcher.Add(dir); err != nil {
				f.logger.V(1).Info("a file or folder cannot be watched", "path", dir, "reason", err.Error())
			}
		}
	}
}

// readAndCompare reads the files, and calls wake if they are not as before.
func (f *Source) readAndCompare() {
	next := f.reader.readAll()
	f.mu.Lock()
	f.markSteady(&next)
	news, problems := !f.isRead || !next.isSame(f.last), !slices.Equal(next.problems, f.last.problems)
	f.last, f.isRead = next, true
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

// markSteady sets Steady of the manifests of a reading, and withholds those that may be half written.
// mu is held.
func (f *Source) markSteady(next *fileReading) {
	now, before, shown := f.clock.Now(), map[manifest.Origin]string{}, map[manifest.Origin]bool{}
	for _, t := range f.last.withheld {
		before[t.Origin] = t.Digest
	}
	for _, t := range f.last.manifests {
		before[t.Origin], shown[t.Origin] = t.Digest, true
	}
	first := map[manifest.Origin]time.Time{}
	for i := range next.manifests {
		t := &next.manifests[i]
		first[t.Origin] = now
		if before[t.Origin] == t.Digest {
			first[t.Origin] = f.steadySince[t.Origin]
		}
		t.Steady = t.Steady || now.Sub(first[t.Origin]) >= steadyInterval
	}
	f.steadySince = first
	next.withholdFresh(shown)
}

// withholdFresh takes out the manifests that may be half written and are not shown yet: what an earlier
// run of Ambit has made of the whole text would be removed.
func (r *fileReading) withholdFresh(shown map[manifest.Origin]bool) {
	r.manifests = slices.DeleteFunc(r.manifests, func(t manifest.Manifest) bool {
		withheld := t.JustWritten && !t.Steady && !shown[t.Origin]
		if withheld {
			r.withheld = append(r.withheld, t)
		}
		return withheld
	})
}

// nextPoll returns after which time files are read again without an event: soon, if one is not steady.
func (f *Source) nextPoll() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.last.withheld) > 0 || slices.ContainsFunc(f.last.manifests, func(t manifest.Manifest) bool { return !t.Steady }) {
		return steadyInterval
	}
	return pollInterval
}

// waitForChange returns when files may have changed and are left alone, or it is time to poll.
func (f *Source) waitForChange(ctx context.Context, watcher *fsnotify.Watcher) {
	poll := f.clock.NewTimer(f.nextPoll())
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
	end := f.clock.NewTimer(maxSettling)
	defer end.Stop()
	for {
		quiet := f.clock.NewTimer(settlePeriod)
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
