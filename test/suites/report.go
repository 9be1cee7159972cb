package suites

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// report is the part that is read of what ginkgo writes with -ginkgo.json-report.
type report struct {
	SuiteDescription           string
	SpecialSuiteFailureReasons []string
	SpecReports                []specReport

	exit  error // of the process; a case that failed is a reason for it
	races int   // that the race detector has found: cases pass with them
}

// specReport is a case, or a node that sets up the suite.
type specReport struct {
	ContainerHierarchyTexts []string
	LeafNodeType            string
	LeafNodeText            string
	State                   string
	RunTime                 time.Duration
	Failure                 struct {
		Message  string
		Location struct {
			FileName   string
			LineNumber int
		}
	}
	ReportEntries []struct{ Name string }
}

// readReport reads a file with the report of one suite.
func readReport(path string) (*report, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	var found []report
	if err := json.Unmarshal(data, &found); err != nil {
		return nil, fmt.Errorf("reading a report: %w", err)
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("reading a report: %d suites, want 1", len(found))
	}
	return &found[0], nil
}

// isCase reports whether it is a case, not what sets up a suite.
func (s *specReport) isCase() bool { return s.LeafNodeType == "It" }

// asked reports whether it is of the files and texts asked for: others are skipped without a word.
// Pending ones controller-runtime never runs.
func (s *specReport) asked() bool {
	return s.State != "pending" && (s.State != "skipped" || s.Failure.Message != "")
}

// name is the case's text with those of its containers, as ginkgo prints it.
func (s *specReport) name() string {
	return strings.Join(append(append([]string{}, s.ContainerHierarchyTexts...), s.LeafNodeText), " ")
}

// madeCache reports whether a cache was made in it.
func (s *specReport) madeCache() bool {
	for _, entry := range s.ReportEntries {
		if entry.Name == madeCache {
			return true
		}
	}
	return false
}

// failure says why it failed, and where.
func (s *specReport) failure() string {
	return fmt.Sprintf("%s: %s\n%s:%d", s.State, s.Failure.Message, s.Failure.Location.FileName, s.Failure.Location.LineNumber)
}
