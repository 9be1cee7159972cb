package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/diff"

	"github.com/ambit-dev/ambit/pkg/simulate"
)

// exampleTime is how a time is written, for messages.
const exampleTime = "2026-11-27T03:00:00Z"

// parseTime reads a time that a user gives; what says what it is for.
func parseTime(what, text string) (time.Time, error) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%s: %q is no time: write it as in %s", what, text, exampleTime)
	}
	return at, nil
}

// renderTimes are the times between which `ambit render` looks. until is zero for one look.
type renderTimes struct{ at, until time.Time }

// readTimes reads the flags.
func (o *renderOptions) readTimes() (renderTimes, error) {
	times := renderTimes{at: time.Now()}
	var err error
	if o.At != "" {
		if times.at, err = parseTime("--at", o.At); err != nil {
			return times, usageErrorf("%w", err)
		}
	}
	if o.Until == "" {
		return times, nil
	}
	if times.until, err = parseTime("--until", o.Until); err != nil {
		return times, usageErrorf("%w", err)
	}
	if !times.until.After(times.at) {
		return times, usageErrorf("--until is not after %s, which is looked at first", times.at.UTC().Format(time.RFC3339))
	}
	return times, nil
}

// mostWakes is how many wakes are listed.
const mostWakes = 1000

// printWakes lists at which times until the last the plan changes by itself, if nothing else does, and what is
// different then.
func printWakes(ctx context.Context, out io.Writer, in simulate.Input, until time.Time) error {
	result := simulate.Reconcile(ctx, in)
	for range mostWakes {
		wake := result.Plan.Wake
		if wake == nil || wake.At.After(until) {
			return nil
		}
		before := withoutWakes(result)
		in.Now = wake.At
		result = simulate.Reconcile(ctx, in)
		if _, err := fmt.Fprintf(out, "%s  %s\n%s", wake.At.Format(time.RFC3339), wake.Reason, changedLines(before, withoutWakes(result))); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(out, "and more: the first %d are listed\n", mostWakes)
	return err
}

// withoutWakes is the text of what a reconcile comes to, without when that changes.
func withoutWakes(result simulate.Result) string {
	planned := *result.Plan
	planned.Wake = nil
	result.Plan = &planned
	return result.PlanText()
}

// changedLines are the lines that are different, indented.
func changedLines(before, after string) string {
	var b strings.Builder
	for line := range bytes.Lines(diff.Diff("before", []byte(before), "after", []byte(after))) {
		isHeader := bytes.HasPrefix(line, []byte("--- ")) || bytes.HasPrefix(line, []byte("+++ "))
		if !isHeader && (line[0] == '-' || line[0] == '+') {
			b.WriteString("  " + string(line))
		}
	}
	return b.String()
}
