package cli

import (
	"fmt"
	"strings"
	"sync"

	"github.com/ambit-dev/ambit/pkg/uninstall"
)

// cleanupState is how far cleaning up is. It may be used concurrently; its zero value says
// that nothing is known.
type cleanupState struct {
	mu      sync.Mutex // guards what is below
	now     uninstall.Progress
	printed map[uninstall.Finding]bool
}

// setProgress takes how far it is.
func (s *cleanupState) setProgress(now uninstall.Progress) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = now
}

// nextMessage returns what to tell the user now, empty for nothing: what is in the way is told
// once, and not at all if it is about to be the result.
func (s *cleanupState) nextMessage() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.now.Final {
		return ""
	}
	var lines []string
	if s.now.Left > 0 {
		lines = append(lines, fmt.Sprintf("%d left to clean up", s.now.Left))
	}
	printed := map[uninstall.Finding]bool{}
	for _, blocker := range s.now.Blocked {
		if !s.printed[blocker] {
			lines = append(lines, "cannot clean up: "+blocker.String())
		}
		printed[blocker] = true
	}
	s.printed = printed
	if s.now.Left == 0 && len(s.now.Blocked) == 0 {
		return "looking for what is left to clean up"
	}
	return strings.Join(lines, "\n")
}

// leftObject is a finding as `ambit cleanup -o json` prints it. The shape is stable.
type leftObject struct {
	Policy    string `json:"policy"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Why       string `json:"why"`
}

// printLeft prints what is left and returns findings.
func (o *cleanupOptions) printLeft(left []uninstall.Finding) error {
	if o.Output == "" {
		for _, f := range left {
			fmt.Fprintln(o.Out, f)
		}
	} else {
		objects := make([]leftObject, len(left))
		for i, f := range left {
			objects[i] = leftObject{Policy: f.Policy, Kind: f.Kind, Namespace: f.Namespace, Name: f.Name, Why: f.Why}
		}
		if err := printData(o.Out, o.Output, map[string]any{"left": objects}); err != nil {
			return err
		}
	}
	fmt.Fprintln(o.ErrOut, "not all is cleaned up")
	return errFindings()
}
