package main

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestScrape(t *testing.T) {
	t.Parallel()
	text := "# HELP go_goroutines Number.\n# TYPE go_goroutines gauge\ngo_goroutines 41\n" +
		"ambit_watches{state=\"Live\"} 3\nambit_watch_reopens_total 1.2e+03\nold 7 1395066363000\n"
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(text))
	}))
	defer server.Close()
	got, err := scrape(t.Context(), server.URL)
	want := readings{"go_goroutines": 41, "ambit_watch_reopens_total": 1200, "old": 7}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("scrape: %v; -want +got\n%s", err, diff)
	}
	if v := got.get("other"); !math.IsNaN(v) {
		t.Errorf("A metric that is not there is %v, want NaN", v)
	}
	text = "broken text\n"
	if _, err := scrape(t.Context(), server.URL); err == nil {
		t.Error("What cannot be read is an error, not a figure.")
	}
	status = http.StatusNotFound
	if _, err := scrape(t.Context(), server.URL); err == nil {
		t.Error("No metrics are an error.")
	}
}
