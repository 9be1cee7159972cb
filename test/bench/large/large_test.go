package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

func TestPickScenes(t *testing.T) {
	cases := map[string]struct {
		reason string
		o      options
		sizes  [][]int
		places []int
	}{
		"All": {
			"In full there are as many owners as the comment of the package says.",
			options{Scale: 1, Scenes: allScenes()}, [][]int{{1000, 3000, 10000}, {9000}, {5000}}, []int{100, 100, 1000},
		},
		"Scaled": {
			"Owners and namespaces are divided alike.",
			options{Scale: 20, Scenes: []string{sceneOneChild, sceneByNamespace}}, [][]int{{50, 150, 500}, {250}}, []int{5, 50},
		},
		"Tiny": {
			"There is always an owner, and a place for it.",
			options{Scale: 100000, Scenes: []string{sceneFourChildren}}, [][]int{{1}}, []int{1},
		},
		"Unknown": {
			"A typing mistake must not measure less than was asked for.",
			options{Scale: 1, Scenes: []string{"one-chidl"}}, nil, nil,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			scenes, err := pickScenes(tc.o)
			if (err == nil) != (tc.sizes != nil) {
				t.Fatalf("%s pickScenes() = %v", tc.reason, err)
			}
			var sizes [][]int
			var places []int
			for _, s := range scenes {
				sizes, places = append(sizes, s.Sizes), append(places, s.On.Namespaces)
			}
			if diff := cmp.Diff(tc.sizes, sizes); diff != "" {
				t.Errorf("%s sizes: -want +got:\n%s", tc.reason, diff)
			}
			if diff := cmp.Diff(tc.places, places); diff != "" {
				t.Errorf("%s namespaces: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCommand(t *testing.T) {
	scenes, err := pickScenes(options{Scale: 1, Workers: 3, Bin: "bin", Scenes: []string{sceneOneChild, sceneByNamespace}})
	if err != nil {
		t.Fatal(err)
	}
	for i, named := range []bool{false, true} {
		command := strings.Join(scenes[i].command(sideAmbit, "127.0.0.1:7", []string{"a", "b"}), " ")
		if strings.Contains(command, "--namespaces=a,b") != named {
			t.Errorf("Ambit is told of namespaces where it cannot look for them, and only there: %s", command)
		}
		if !strings.Contains(command, "--metrics-bind-address=127.0.0.1:7") || !strings.Contains(command, "--concurrency=3") {
			t.Errorf("Ambit serves metrics, and has as many workers as were asked for: %s", command)
		}
	}
}

func TestSumSeries(t *testing.T) {
	const text = `# TYPE ambit_reconcile_total counter
ambit_reconcile_total{policy="a",result="progressing"} 9000
ambit_reconcile_total{policy="a",result="ready"} 1.2e+03
ambit_reconcile_total{policy="a",result="stalled"} 1
ambit_reconcile_total{policy="a",result="waiting"} 50
ambit_reconcile_total{policy="a",result="error"} 7
ambit_reconcile_duration_seconds_count{policy="a"} 10258
`
	got := sumSeries(text, "ambit_reconcile_total", `result="waiting"`, `result="error"`)
	if want := 10201; got != want {
		t.Errorf("sumSeries() = %d, want %d: those that wait or fail are done again.", got, want)
	}
}

func TestAwaitReconciles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		read := func(context.Context) int { return int(min(time.Since(began), 3*time.Second) / time.Second * 2) }
		at, err := awaitReconciles(t.Context(), read, 4)
		if took := at.Sub(began); err != nil || took != 3*time.Second {
			t.Errorf("awaitReconciles() = after %s, %v; want the last of all, after 3s: enough of them are not the last.", took, err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Minute, errors.New("too slow"))
		defer cancel()
		if _, err := awaitReconciles(ctx, read, 7); err == nil || !strings.Contains(err.Error(), "after 6: too slow") {
			t.Errorf("The error says how far it came, and why it ended, not %v.", err)
		}
	})
}

func TestTable(t *testing.T) {
	s := scene{
		Title: "Title", Policy: "policy.yaml", Sizes: []int{1000, 2000, 4000}, Sides: []string{sideBare, sideAmbit},
	}
	samples := map[string][]sample{
		sideBare:  {{converged: 1}, {converged: 2}, {converged: 4}},
		sideAmbit: {{converged: 2, rss: 40, restartWrites: 0}, {converged: 4, rss: 50, restartWrites: 0}, {converged: 12, rss: 90, restartWrites: 0}},
	}
	var out bytes.Buffer
	if err := s.writeTable(&out, samples); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, line := range strings.Split(strings.TrimSpace(out.String()), "\n")[2:] {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"bare 1000 ambit 1000 bare 2000 ambit 2000 bare 4000 ambit 4000 ambit/bare 4000 growth",
		"process start to converged, s 1 2 2 4 4 12 3 -",
		"ms an owner until converged 1 2 1 2 1 3 3 1.50",
		"resident memory, quiet, MiB - 40 - 50 - 90 - -",
		"resident memory an owner, KiB (1) - - - 10.24 - 20.48 - 2",
		"writes after a restart - 0 - 0 - 0 - -",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("What the last owners cost is compared with what the first ones did: -want +got:\n%s", diff)
	}
}

// TestPolicy: the policy has no mistake, and as many children as the stage looks for.
func TestPolicy(t *testing.T) {
	text, err := os.ReadFile("four.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := syntax.Parse("four.yaml", text)
	if err != nil || len(documents) != 1 {
		t.Fatalf("%d documents, %v", len(documents), err)
	}
	program, err := policy.Compile(documents[0])
	if err != nil {
		t.Fatal(err)
	}
	if got, want := len(program.Children), len(fourChildren(1).Children); got != want {
		t.Errorf("The policy has %d children, the stage looks for %d.", got, want)
	}
}
