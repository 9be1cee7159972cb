package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWrite(t *testing.T) {
	o := options{Owners: 4, Namespaces: 1, Rounds: 3, Workers: 2, Sides: []string{sideBare, sideAmbit}}
	samples := map[string][]sample{
		sideBare:  {{converge: 1, writes: 2}, {converge: 4, writes: 2}, {converge: 2, writes: 2}},
		sideAmbit: {{converge: 2.5, writes: 2, restartWrites: 0}, {converge: 9, writes: 2, restartWrites: 0}, {converge: 1, writes: 2, restartWrites: 0}},
	}
	var out bytes.Buffer
	if err := write(&out, o, samples); err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(out.String(), "control plane of its own.\n\n")
	var got [][]string
	for _, line := range strings.Split(strings.TrimRight(table, "\n"), "\n") {
		if line := strings.Fields(line); line[len(line)-1] != "-" || line[0] == "writes" {
			got = append(got, line[max(0, len(line)-3):])
		}
	}
	want := [][]string{
		{"bare", "ambit", "ambit/bare"},
		{"2", "2.50", "1.25"},
		{"2", "2", "1"},
		{"-", "0", "-"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Medians and their ratios, and - where nothing was measured: -want +got:\n%s", diff)
	}
}

func TestPick(t *testing.T) {
	cases := map[string]struct {
		reason string
		sides  []string
		ok     bool
	}{
		"All":     {"All sides are known.", allSides(), true},
		"Unknown": {"A typing mistake must not measure less than was asked for.", []string{"bare", "ambitt"}, false},
		"Twice":   {"A side twice would share its user, and its requests.", []string{"bare", "bare"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sides, err := pick(options{Sides: tc.sides})
			if (err == nil) != tc.ok {
				t.Fatalf("%s pick() = %v", tc.reason, err)
			}
			if tc.ok && len(sides) != len(tc.sides) {
				t.Errorf("%s pick() gave %d sides, want %d", tc.reason, len(sides), len(tc.sides))
			}
		})
	}
}
