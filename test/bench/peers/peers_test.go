package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/test/bench/memcached"
)

func TestWriteTable(t *testing.T) {
	var out bytes.Buffer
	err := writeTable(&out, table{
		options: options{Owners: 4, Namespaces: 1, Rounds: 3},
		sides:   []side{{name: sideAmbit, what: "Ambit of this tree"}, {name: sideKro, what: "kro v1"}},
		absent:  []error{absentError{"metacontroller", errors.New("there is none")}},
		samples: map[string][]sample{
			sideAmbit: {{converged: 2, writes: 2}, {converged: 9, writes: 2}, {converged: 1, writes: 2}},
			sideKro:   {{converged: 5, writes: 9}, {converged: 4, writes: 9}, {converged: 6, writes: 9}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(out.String()) {
		words := strings.Fields(line)
		if strings.HasPrefix(strings.Join(words, " "), string(converged)) {
			got = append(got, strings.Join(words[len(words)-2:], " "))
		}
	}
	if want := "2 5, 1 2.50"; strings.Join(got, ", ") != want {
		t.Errorf("Medians, then multiples of Ambit's, are %q, want %q", got, want)
	}
	for _, want := range []string{"kro: kro v1\n", "metacontroller is left out: there is none\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("The foot does not say %q:\n%s", want, out.String())
		}
	}
}

func TestPickSides(t *testing.T) {
	cases := map[string]struct {
		reason        string
		sides         []string
		ok            bool
		taken, absent int
	}{
		"Ambit":    {"It needs nothing.", []string{sideAmbit}, true, 1, 0},
		"NoBinary": {"What is left out is said once.", []string{sideAmbit, sideMetacontroller, sideMetacontrollerTuned}, true, 1, 1},
		"NoSide":   {"A table without a side is of no use.", []string{sideMetacontroller}, false, 0, 0},
		"Unknown":  {"A typing mistake must not measure less than was asked for.", []string{sideAmbit, "kroo"}, false, 0, 0},
		"Twice":    {"A side twice would have twice the turns.", []string{sideAmbit, sideAmbit}, false, 0, 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			sides, absent, err := pickSides(t.Context(), options{Sides: tc.sides, Workers: 1})
			if (err == nil) != tc.ok {
				t.Fatalf("%s pickSides() = %v", tc.reason, err)
			}
			if len(sides) != tc.taken || len(absent) != tc.absent {
				t.Errorf("%s %d sides, left out %v", tc.reason, len(sides), absent)
			}
		})
	}
}

// TestSameDeployment: the graph for kro has the Pods of the policy, which are those of package
// memcached.
func TestSameDeployment(t *testing.T) {
	var policy struct {
		Spec struct {
			Children []struct{ Template map[string]any }
		}
	}
	var rgd struct {
		Spec struct {
			Schema    struct{ Group, Kind, APIVersion string }
			Resources []struct{ Template map[string]any }
		}
	}
	text, err := os.ReadFile(filepath.FromSlash("../../../policies/memcached.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(yaml.Unmarshal(text, &policy), yaml.Unmarshal(graph, &rgd)); err != nil {
		t.Fatal(err)
	}
	want, got := policy.Spec.Children[0].Template, rgd.Spec.Resources[0].Template
	if want, got := podOf(t, want), podOf(t, got); !bytes.Equal(want, got) {
		t.Errorf("kro makes Pods of\n%s\nand the policy of\n%s", got, want)
	}
	if s := rgd.Spec.Schema; s.Group != kroGroup || s.Kind != "Memcached" || s.APIVersion != memcached.GroupVersion().Version {
		t.Errorf("kro makes the kind %+v, and owners are made of another one", s)
	}
}

// podOf returns the spec of the Pods of a Deployment, without what the API server adds anyway.
func podOf(t *testing.T, deployment map[string]any) []byte {
	t.Helper()
	template := deployment["spec"].(map[string]any)["template"].(map[string]any)
	text, err := yaml.Marshal(template["spec"])
	if err != nil {
		t.Fatal(err)
	}
	return bytes.ReplaceAll(text, []byte("    protocol: TCP\n"), nil)
}
