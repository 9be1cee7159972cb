package informer

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

const twinFile = "testdata/twin.txt"

// twinDifference is an entry of testdata/twin.txt: a step in which the twins differ.
type twinDifference struct {
	step  string
	limit time.Duration // how long ours may take
	ours  string
	other string
	why   string
}

// readTwinList reads the list. An entry is a paragraph of `field: value` lines.
func readTwinList(t *testing.T) map[string]*twinDifference {
	t.Helper()
	listed := map[string]*twinDifference{}
	for _, paragraph := range twinParagraphs(t)[1:] {
		d := &twinDifference{}
		for line := range strings.Lines(paragraph) {
			field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch field {
			case "step":
				d.step = value
			case "limit":
				limit, err := time.ParseDuration(value)
				if err != nil {
					t.Fatal(err)
				}
				d.limit = limit
			case "ours":
				d.ours = value
			case "client-go":
				d.other = value
			case "why":
				d.why = value
			default:
				t.Fatalf("%s: %q is no field", twinFile, line)
			}
		}
		if d.step == "" || d.limit == 0 || d.why == "" {
			t.Fatalf("%s: an entry needs step, limit and why:\n%s", twinFile, paragraph)
		}
		listed[d.step] = d
	}
	return listed
}

// twinParagraphs returns the header and the entries.
func twinParagraphs(t *testing.T) []string {
	t.Helper()
	data, err := os.ReadFile(twinFile)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n\n")
}

// keepLongest keeps of several rounds what took longest, and all that was told.
func keepLongest(longest map[string]*measurement, step string, m *measurement) {
	found, ok := longest[step]
	if !ok {
		longest[step] = m
		return
	}
	for name, took := range m.took {
		if took < 0 || found.took[name] >= 0 && took > found.took[name] {
			found.took[name] = took
		}
		words := append(strings.Fields(found.told[name]), strings.Fields(m.told[name])...)
		slices.Sort(words)
		found.told[name] = strings.Join(slices.Compact(words), " ")
	}
}

// text is what the list has of a twin.
func (m *measurement) text(name string) string {
	took := m.took[name].Round(100 * time.Millisecond).String()
	if m.took[name] < 0 {
		took = "never"
	}
	return fmt.Sprintf("%s, told %s", took, m.told[name])
}

// toldIn is the second half of a text.
func toldIn(text string) string {
	_, told, _ := strings.Cut(text, ", told ")
	return told
}

// compareTwins holds what was measured against the list. What is not listed both do at
// once, and alike.
func compareTwins(t *testing.T, listed map[string]*twinDifference, longest map[string]*measurement) {
	t.Helper()
	for _, step := range slices.Sorted(maps.Keys(longest)) {
		m := longest[step]
		ours, other := m.took["ours"], m.took["client-go"]
		d, ok := listed[step]
		switch {
		case !ok && (ours < 0 || other < 0 || max(ours, other) > time.Second || m.told["ours"] != m.told["client-go"]):
			t.Errorf("%s is not in %s: ours %s; client-go %s", step, twinFile, m.text("ours"), m.text("client-go"))
		case !ok:
		case ours < 0 || ours > d.limit:
			t.Errorf("%s: ours took %v, may take %v", step, ours, d.limit)
		case other >= 0 && other+time.Second < ours:
			t.Errorf("%s: client-go took %v, ours %v: the list says that ours is better", step, other, ours)
		case *rewrite:
			d.ours, d.other = m.text("ours"), m.text("client-go")
		default:
			expect(t, step+": what our hook is told", toldIn(d.ours), m.told["ours"])
			expect(t, step+": what client-go's hook is told", toldIn(d.other), m.told["client-go"])
		}
	}
	for step := range listed {
		if longest[step] == nil {
			t.Errorf("%s has a step %q, which was not taken", twinFile, step)
		}
	}
	if *rewrite && !t.Failed() {
		writeTwinList(t, listed)
	}
}

// writeTwinList writes what was measured, in the order of the file.
func writeTwinList(t *testing.T, listed map[string]*twinDifference) {
	t.Helper()
	paragraphs := twinParagraphs(t)
	for i, paragraph := range paragraphs[1:] {
		first, _, _ := strings.Cut(paragraph, "\n")
		d := listed[strings.TrimPrefix(first, "step: ")]
		paragraphs[i+1] = fmt.Sprintf("step: %s\nlimit: %s\nours: %s\nclient-go: %s\nwhy: %s", d.step, d.limit, d.ours, d.other, d.why)
	}
	if err := os.WriteFile(twinFile, []byte(strings.Join(paragraphs, "\n\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}
