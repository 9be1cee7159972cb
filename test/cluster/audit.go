package cluster

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Audit reads the API server's audit log: all requests but the control plane's
// own. The API server writes a line just before or just after it answers, so a
// request that was answered a moment ago may not be there yet: look for what
// must be there until it is, and for what must not be there after a while.
type Audit struct {
	path string

	mu sync.Mutex
	// The rest is guarded by mu.
	offset   int64 // of the first line that is not in requests
	requests []Request
}

// Mark is a moment. The zero value is before all requests.
type Mark struct{ at time.Time }

// Mark returns the present moment.
func (a *Audit) Mark() Mark { return Mark{at: time.Now().Truncate(time.Microsecond)} }

// Since returns what happened after mark, in the order of the log: requests that
// the API server received after it and has answered, and watches that were
// opened or ended after it. user is the name of the user whose requests are
// wanted, "system:serviceaccount:NAMESPACE:NAME" for a ServiceAccount; "" is
// everybody. The caller owns the result.
func (a *Audit) Since(mark Mark, user string) ([]Request, error) {
	all, err := a.read()
	if err != nil {
		return nil, err
	}
	var found []Request
	for _, r := range all {
		if (user == "" || r.User == user) && !r.moment().Before(mark.at) {
			found = append(found, r)
		}
	}
	return found, nil
}

// OpenWatches returns the watches of user, "" for everybody, that the API server
// has accepted and that have not ended, in the order they were opened.
func (a *Audit) OpenWatches(user string) ([]Request, error) {
	all, err := a.read()
	if err != nil {
		return nil, err
	}
	ended := map[string]bool{}
	for _, r := range all {
		if r.Stage != stageStarted {
			ended[r.id] = true
		}
	}
	var open []Request
	for _, r := range all {
		if (user == "" || r.User == user) && r.IsWatchOpened() && !ended[r.id] {
			open = append(open, r)
		}
	}
	return open, nil
}

// read returns all requests so far. Each line is decoded once. The result is
// shared and only ever appended to: callers do not change it.
func (a *Audit) read() ([]Request, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	file, err := os.Open(a.path)
	if err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(a.offset, io.SeekStart); err != nil {
		return nil, fmt.Errorf("reading the audit log: %w", err)
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return a.requests, nil // the rest of a line is still to come
		}
		if err != nil {
			return nil, fmt.Errorf("reading the audit log: %w", err)
		}
		var e event
		if err := json.Unmarshal(bytes.TrimSpace(line), &e); err != nil {
			return nil, fmt.Errorf("decoding a line of the audit log: %w", err)
		}
		a.requests = append(a.requests, e.request())
		a.offset += int64(len(line))
	}
}
