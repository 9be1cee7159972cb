package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
)

// footprint is what Ambit uses at a moment. NaN: its metrics do not say.
type footprint struct {
	// goroutines is their number.
	goroutines float64
	// heap is what lived on the heap at the last collection, in bytes; rss the resident
	// memory.
	heap, rss float64
}

// footprint reads what Ambit uses.
func (t *trial) footprint(ctx context.Context) (footprint, error) {
	use, err := t.ambit.Usage()
	if err != nil {
		return footprint{}, err
	}
	m, err := scrape(ctx, t.metricsURL)
	if err != nil {
		return footprint{}, err
	}
	// The next collection is due at twice what lived at the last one.
	return footprint{goroutines: m.get("go_goroutines"), heap: m.get("go_memstats_next_gc_bytes") / 2, rss: use.RSS}, nil
}

// readings are the values of metrics without labels, by name.
type readings map[string]float64

// get returns a value, NaN if there is none.
func (r readings) get(name string) float64 {
	if v, ok := r[name]; ok {
		return v
	}
	return math.NaN()
}

// scrape reads metrics over HTTP.
func scrape(ctx context.Context, url string) (readings, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	request.Close = true // an idle connection would be among what is measured
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, fmt.Errorf("reading Ambit's metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("reading Ambit's metrics: %s", response.Status)
	}
	return parse(response.Body)
}

// parse reads the text format of Prometheus; metrics with labels are left out.
func parse(text io.Reader) (readings, error) {
	found := readings{}
	lines := bufio.NewScanner(text)
	for lines.Scan() {
		name, rest, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") || strings.Contains(name, "{") {
			continue
		}
		number, _, _ := strings.Cut(rest, " ") // a timestamp may follow
		value, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return nil, fmt.Errorf("reading Ambit's metric %q: %w", name, err)
		}
		found[name] = value
	}
	return found, lines.Err()
}
