package syntax

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ambit-dev/ambit/test/raced"
)

const wideHeader = "apiVersion: ambit.dev/v1alpha1\nkind: ReconcilePolicy\nmetadata: {name: a}\nspec:\n  owner: {apiVersion: v1, kind: ConfigMap}\n  children:\n  - id: x\n    template:\n      data:"

// TestWideText: a policy is refused by its size as well as by its depth, with the place, and
// what is refused was not read into memory before.
func TestWideText(t *testing.T) {
	raced.Skip(t)
	cases := map[string]struct {
		reason string
		text   string
		want   string // of the error; empty: there is none
	}{
		"List":       {"a list of short values", wideHeader + " [" + strings.Repeat("1,", 500_000) + "1]\n", "a.yaml:9:"},
		"Map":        {"a mapping of short keys", wideHeader + " {" + strings.Repeat("k: 1,", 150_000) + "}\n", "a.yaml:9:"},
		"Block":      {"a list with a line for each value", wideHeader + "\n" + strings.Repeat("      - 1\n", 150_000), "commas, brackets and ends of lines"},
		"Nested":     {"lists in one line", wideHeader + "\n" + strings.Repeat("      - - - - 1\n", 60_000), "commas, brackets and ends of lines"},
		"Values":     {"a list that is short enough to be read", wideHeader + "\n" + strings.Repeat("      - 1\n", MaxValues), fmt.Sprintf("more than %d values", MaxValues)},
		"SecondPart": {"a document behind a fine one", wideHeader + " {}\n---\n" + wideHeader + " [" + strings.Repeat("1,", 500_000) + "1]\n", "a.yaml:19:"},
		"Script":     {"a long text is one value", wideHeader + "\n        script: |\n" + strings.Repeat("          echo a, b, c\n", 20_000), ""},
		"Many":       {"many documents, none of them large", strings.Repeat(wideHeader+" {}\n---\n", 20_000), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			before := allocated()
			_, err := Parse("a.yaml", []byte(tc.text))
			took := allocated() - before
			if tc.want == "" {
				if err != nil {
					t.Errorf("%s: %.200s", tc.reason, err)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got %.300v, want %q", tc.reason, err, tc.want)
			}
			if len(err.Error()) > 1000 {
				t.Errorf("%s: the error has %d bytes", tc.reason, len(err.Error()))
			}
			if most := uint64(64 << 20); took > most {
				t.Errorf("%s: it took %d MiB", tc.reason, took>>20)
			}
		})
	}
}

func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// TestWideObject: an object of the API server is refused in the same way.
func TestWideObject(t *testing.T) {
	list := make([]any, MaxValues)
	for i := range list {
		list[i] = int64(1)
	}
	for name, value := range map[string]any{"list": list, "map": manyKeys(MaxValues / 2)} {
		object := map[string]any{"apiVersion": "ambit.dev/v1alpha1", "kind": "ReconcilePolicy", "spec": map[string]any{"children": value}}
		if _, err := FromObject("crd a/b", object); err == nil || !strings.Contains(err.Error(), tooWideText) {
			t.Errorf("%s: %.300v", name, err)
		}
	}
}

func manyKeys(n int) map[string]any {
	m := make(map[string]any, n)
	for i := range n {
		m[fmt.Sprint(i)] = int64(1)
	}
	return m
}
