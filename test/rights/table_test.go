package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	hundred := make([]float64, 100) // 0.001 to 0.100
	for i := range hundred {
		hundred[len(hundred)-1-i] = float64(i+1) / 1000
	}
	r := result{
		way: way{title: "By hand", aims: map[metric]time.Duration{deniedToStatus: 99 * time.Millisecond, grantToChild: time.Second, revokeToClosing: time.Second}},
		latencies: map[metric][]float64{
			deniedToStatus: hundred, grantToChild: {0.5, 1.25, 0.25}, revokeToStatus: {7},
		},
		streams: 199, cost: &cost{reopened: 56.84, counted: math.NaN(), cpu: 0.0321},
		reviews: 4.44,
		before:  footprint{goroutines: 40, heap: 3 << 20, rss: 31.5 * (1 << 20)},
		after:   footprint{goroutines: 41, heap: math.NaN(), rss: 32 << 20},
	}
	var out bytes.Buffer
	if err := r.write(&out); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n") {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"By hand, up to 199 watches open",
		"",
		"p50 p99 max aim for p99",
		"denied from the start to status 50 ms 99 ms 100 ms 99ms met",
		"grant to child created 500 ms 1.25 s 1.25 s 1s missed",
		"revoke to status 7.00 s 7.00 s 7.00 s",
		"revoke to stream closed - - - 1s missed",
		"",
		"while nothing happens, with 199 watches open: 56.8 reopens a second (audit log), - (ambit_watch_reopens_total), 0.0 lists,",
		"ambit uses 3.2 % of a core",
		"reviews while there were cycles: 4.4 a second",
		"after the cycles (before): 41 goroutines (40), - MiB of live heap (3), 32 MiB resident (31.5)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestShare(t *testing.T) {
	t.Parallel()
	for _, all := range []int{1, 19, 20, 21, 100} {
		sum := 0
		for i := range 20 {
			sum += share(all, 20, i)
		}
		if sum != all {
			t.Errorf("The shares of %d are %d together.", all, sum)
		}
	}
}

func TestStaying(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		options options
		want    int
	}{
		"Default": {"All watches together are at most as many as asked for: 2 times 99, and that of owners.", options{Namespaces: 20, Streams: 200}, 79},
		"Few":     {"Namespaces with cycles are not made fewer.", options{Namespaces: 20, Streams: 10}, 0},
	}
	for name, tc := range cases {
		if got := tc.options.staying(); got != tc.want {
			t.Errorf("%s: %s staying() = %d, want %d", name, tc.reason, got, tc.want)
		}
	}
}
