package suites

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestJudge reads reports as ginkgo writes them.
func TestJudge(t *testing.T) {
	t.Parallel()
	const (
		passed = `{"ContainerHierarchyTexts":["a","b"],"LeafNodeType":"It","LeafNodeText":"holds","State":"passed","ReportEntries":[{"Name":"` + madeCache + `"}]}`
		failed = `{"ContainerHierarchyTexts":["a"],"LeafNodeType":"It","LeafNodeText":"fails","State":"failed","Failure":{"Message":"no","Location":{"FileName":"f.go","LineNumber":3}}}`
		others = `{"LeafNodeType":"It","LeafNodeText":"of another file","State":"skipped"},{"LeafNodeType":"It","LeafNodeText":"later","State":"pending"},` +
			`{"LeafNodeType":"It","LeafNodeText":"not here","State":"skipped","Failure":{"Message":"needs a node"}}`
		setUp = `{"LeafNodeType":"BeforeSuite","State":"passed","ReportEntries":[{"Name":"` + madeCache + `"}]}`
		down  = `{"LeafNodeType":"BeforeSuite","State":"failed","Failure":{"Message":"no etcd","Location":{"FileName":"s.go","LineNumber":9}}}`
	)
	for name, c := range map[string]struct {
		reason, report string
		listed         []unheld
		part           bool
		want           verdict
	}{
		"all hold": {
			reason: "what was not asked for does not count, what skips itself does",
			report: passed + "," + others,
			want:   verdict{run: 2, passed: 1, skipped: 1, madeCache: 1},
		},
		"one fails": {
			reason: "a case fails that is on no list",
			report: passed + "," + failed,
			want:   verdict{run: 2, passed: 1, madeCache: 1, wrong: []string{"a fails\nfailed: no\nf.go:3"}},
		},
		"listed": {
			reason: "a case may fail for a reason",
			report: setUp + "," + failed,
			listed: []unheld{{name: "a fails", reason: "so it is"}},
			want:   verdict{run: 1, shared: true, unheld: []string{"a fails\nlisted: so it is"}},
		},
		"listed and holds": {
			reason: "the list must become shorter when it can",
			report: passed,
			listed: []unheld{{name: "a b holds", reason: "so it was"}},
			want:   verdict{run: 1, passed: 1, madeCache: 1, wrong: []string{"a b holds\nholds: take it off the list"}},
		},
		"listed and gone": {
			reason: "a case that there is not must leave the list",
			report: passed,
			listed: []unheld{{name: "a was", reason: "so it was"}},
			want:   verdict{run: 1, passed: 1, madeCache: 1, wrong: []string{`there is no case "a was", but the list has it`}},
		},
		"listed and not asked for": {
			reason: "a run of some cases says nothing of the others",
			report: passed,
			listed: []unheld{{name: "a was", reason: "so it was"}},
			part:   true,
			want:   verdict{run: 1, passed: 1, madeCache: 1},
		},
		"no control plane": {
			reason: "a suite that does not start has not passed, though no case failed",
			report: down + "," + others,
			want: verdict{run: 1, skipped: 1, wrong: []string{"BeforeSuite failed: no etcd\ns.go:9",
				"no case made a cache with the constructor"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := filepath.Join(t.TempDir(), "report.json")
			if err := os.WriteFile(path, []byte(`[{"SpecReports":[`+c.report+`]}]`), 0o600); err != nil {
				t.Fatal(err)
			}
			found, err := readReport(path)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, judge(found, c.listed, !c.part), cmp.AllowUnexported(verdict{})); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

// TestJudgeSuite: a suite may go wrong though no case failed.
func TestJudgeSuite(t *testing.T) {
	t.Parallel()
	cases := []specReport{{LeafNodeType: "It", State: "passed", ReportEntries: []struct{ Name string }{{Name: madeCache}}}}
	for name, c := range map[string]struct {
		reason string
		report report
		want   string
	}{
		"out of time": {
			reason: "cases were not run",
			report: report{SpecialSuiteFailureReasons: []string{"Suite Timeout Elapsed"}},
			want:   "the suite: Suite Timeout Elapsed",
		},
		"race": {
			reason: "a data race fails no case",
			report: report{races: 2, exit: errors.New("exit status 1")},
			want:   "2 data races: -artifacts keeps the output, which has them",
		},
		"crashed": {
			reason: "a panic after the report fails no case",
			report: report{exit: errors.New("exit status 2")},
			want:   "no case failed, but the suite did: exit status 2",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.report.SpecReports = cases
			if diff := cmp.Diff([]string{c.want}, judge(&c.report, nil, true).wrong); diff != "" {
				t.Errorf("%s: %s", c.reason, diff)
			}
		})
	}
}

// TestLastLines: what is kept, counted and handed on of an output.
func TestLastLines(t *testing.T) {
	t.Parallel()
	var handed []string
	l := &lastLines{each: func(line string) { handed = append(handed, line) }}
	for _, text := range []string{"a\n" + caseLine + "one\nWARN", "ING: DATA RACE\n", strings.Repeat("b\n", 99), "c"} {
		if _, err := l.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff([]string{"one"}, handed); diff != "" || l.races != 1 || len(l.lines) != 100 || !strings.HasSuffix(l.String(), "b\nc") {
		t.Errorf("%d races, %d lines, ends with %q\n%s", l.races, len(l.lines), l.lines[len(l.lines)-1], diff)
	}
}
