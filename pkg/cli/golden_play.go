package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/ambit-dev/ambit/pkg/internal/manifests"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/simulate"
)

// verdict is what came of a case.
type verdict string

const (
	passed     verdict = "ok"
	failed     verdict = "FAIL"
	updated    verdict = "updated"
	unreadable verdict = "error"
)

// outcome is a case and what came of it, as `ambit test -o json` prints it.
type outcome struct {
	Case   string  `json:"case"`
	Result verdict `json:"result"`
	// Diff is what is expected against what it is; empty for ok.
	Diff string `json:"diff,omitempty"`
	// Message says why the case cannot be read.
	Message string `json:"message,omitempty"`
}

// expectation is a file of a case with what it should say.
type expectation struct {
	name string
	data []byte
}

// playCase runs one case, and with --update writes what is expected of it.
func (o *testOptions) playCase(ctx context.Context, c testCase, policies policyCache) outcome {
	files, err := c.makeExpectations(ctx, policies)
	if err != nil {
		return outcome{Case: c.Name, Result: unreadable, Message: err.Error()}
	}
	var diffs strings.Builder
	for _, f := range files {
		difference, err := o.compareFile(filepath.Join(c.Dir, f.name), f.data)
		if err != nil {
			return outcome{Case: c.Name, Result: unreadable, Message: err.Error()}
		}
		diffs.WriteString(difference)
	}
	switch {
	case diffs.Len() == 0:
		return outcome{Case: c.Name, Result: passed}
	case o.Update:
		return outcome{Case: c.Name, Result: updated, Diff: diffs.String()}
	}
	return outcome{Case: c.Name, Result: failed, Diff: diffs.String()}
}

// compareFile returns the difference between what a file says, nothing if it is not
// there, and what it should say; with --update it is then written.
func (o *testOptions) compareFile(path string, data []byte) (string, error) {
	expected, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if bytes.Equal(expected, data) && err == nil {
		return "", nil
	}
	if o.Update {
		if err := os.WriteFile(path, data, 0o644); err != nil {
			return "", err
		}
	}
	shown := filepath.ToSlash(path)
	_, difference, _ := bytes.Cut(diff.Diff(shown, expected, shown+" (now)", data), []byte("\n")) // a line `diff a b`
	return string(difference), nil
}

// makeExpectations returns the files that are expected of a case, as they are now, by name.
func (c testCase) makeExpectations(ctx context.Context, policies policyCache) ([]expectation, error) {
	in, later, err := c.readCase(policies)
	if err != nil {
		return nil, err
	}
	result := simulate.Reconcile(ctx, in)
	if policies.functions != nil && simulate.Reconcile(ctx, in).PlanText() != result.PlanText() {
		return nil, errors.New("the plan is another one the second time: a function of this program that the policy calls is not pure")
	}
	text := result.PlanTextWithoutStatus()
	for _, at := range later {
		in.Now = at
		text += fmt.Sprintf("\nat %s:\n%s", at.UTC().Format(time.RFC3339), simulate.Reconcile(ctx, in).PlanText())
	}
	var status bytes.Buffer
	if err := printData(&status, "yaml", result.OwnerStatus()); err != nil {
		return nil, err
	}
	return []expectation{{casePlan, []byte(text)}, {caseStatus, status.Bytes()}}, nil
}

// readCase returns what the reconcile is simulated with that the case describes, and later times to look at.
func (c testCase) readCase(policies policyCache) (in simulate.Input, later []time.Time, err error) {
	s, err := c.readSettings()
	if err != nil {
		return in, nil, err
	}
	owner, ownerErr := manifests.ReadObject(filepath.Join(c.Dir, caseOwner), "the owner", nil)
	observed, observedErr := manifests.ReadObjects(c.observedPaths(), nil)
	found, policiesErr := policies.loadPolicies(s)
	if err := errors.Join(ownerErr, observedErr, policiesErr); err != nil {
		return in, nil, err
	}
	program, err := programFor(owner, found.Programs)
	if err != nil {
		return in, nil, err
	}
	in = simulationOf(program, owner, observed, found.Kinds)
	in.Now, later, err = s.readTimes(program.AsksTime)
	return in, later, err
}

// readTimes reads the times of a case, which has to have them if its policy asks.
func (s settings) readTimes(asked bool) (now time.Time, later []time.Time, err error) {
	switch {
	case s.Now != "":
		if now, err = parseTime("now", s.Now); err != nil {
			return now, nil, err
		}
	case asked || len(s.Later) > 0:
		return now, nil, fmt.Errorf("the policy asks the time, and the case has none: write `now: %s` into a %s in its folder or one above it", exampleTime, caseSettings)
	}
	for _, text := range s.Later {
		at, err := parseTime("later", text)
		if err != nil {
			return now, nil, err
		}
		later = append(later, at)
	}
	return now, later, nil
}

// policyCache holds the policies of cases by where they come from, so that each is compiled
// once.
type policyCache struct {
	functions *policy.Functions // that policies may call; nil for none
	known     map[string]cachedPolicies
}

type cachedPolicies struct {
	manifests.Policies
	err error // why there are none
}

// loadPolicies returns what the settings name: policies without mistakes, and the kinds.
func (cache policyCache) loadPolicies(from settings) (manifests.Policies, error) {
	key := strings.Join(append([]string{from.Policy}, from.CRDs...), "\n")
	cached, isKnown := cache.known[key]
	if !isKnown {
		cached.Policies, cached.err = manifests.LoadPolicies([]string{from.Policy}, from.CRDs, defaultNamespace, cache.functions, nil)
		if cached.err == nil && len(cached.Findings) > 0 {
			var text strings.Builder
			printFindings(&text, cached.Findings)
			cached.err = fmt.Errorf("%s in the policies\n%s", pluralize(len(cached.Findings), "mistake"), text.String())
		}
		cache.known[key] = cached
	}
	return cached.Policies, cached.err
}
