package cluster

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// output keeps what is written, and passes it on unless to is nil.
type output struct {
	to io.Writer
	mu sync.Mutex
	// kept is guarded by mu.
	kept bytes.Buffer
}

func (o *output) Write(data []byte) (int, error) {
	o.mu.Lock()
	o.kept.Write(data)
	o.mu.Unlock()
	if o.to != nil {
		return o.to.Write(data)
	}
	return len(data), nil
}

func (o *output) text() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return strings.TrimSpace(o.kept.String())
}

// firstLine sends the first line that is written, once; line has room for it.
// One goroutine writes.
type firstLine struct {
	line chan<- []byte
	part []byte
	sent bool
}

func (f *firstLine) Write(data []byte) (int, error) {
	if f.sent {
		return len(data), nil
	}
	f.part = append(f.part, data...)
	if end := bytes.IndexByte(f.part, '\n'); end >= 0 {
		f.line <- f.part[:end]
		f.sent = true
	}
	return len(data), nil
}
