package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Reconciles are over when there was none for idleTime, looked at every lookEvery.
const (
	idleTime  = 2 * time.Second
	lookEvery = 100 * time.Millisecond
)

// awaitReconciles waits until there were at least that many reconciles, of which read says how many there
// were, and no more follow. It returns when it saw the last one.
func awaitReconciles(ctx context.Context, read func(context.Context) int, least int) (time.Time, error) {
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	for seen, last := 0, time.Now(); ; {
		if n := read(ctx); n != seen {
			seen, last = n, time.Now()
		}
		if seen >= least && time.Since(last) >= idleTime {
			return last, nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("waiting for %d reconciles, after %d: %w", least, seen, context.Cause(ctx))
		}
	}
}

// readReconciles reads from Ambit's metrics how many reconciles there were that came to an end. One that
// waits for a first list, or that failed, is done again.
func (r *run) readReconciles(ctx context.Context) int {
	return sumSeries(r.readMetrics(ctx), "ambit_reconcile_total", `result="waiting"`, `result="error"`)
}

// readMetrics reads Ambit's metrics, as Prometheus does. Empty as long as they are not served.
func (r *run) readMetrics(ctx context.Context) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+r.metrics+"/metrics", nil)
	if err != nil {
		return ""
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return ""
	}
	return string(text)
}

// sumSeries adds up the values of a metric in the text of Prometheus metrics, without those that have one of
// the labels.
func sumSeries(text, name string, without ...string) int {
	total := 0
	for line := range strings.Lines(text) {
		labels, value, found := strings.Cut(strings.TrimSpace(line), "} ")
		if !found || !strings.HasPrefix(labels, name+"{") {
			continue
		}
		if slices.ContainsFunc(without, func(label string) bool { return strings.Contains(labels, label) }) {
			continue
		}
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			total += int(n)
		}
	}
	return total
}
