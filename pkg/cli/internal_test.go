package cli

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/permissions"
)

func TestExitCode(t *testing.T) {
	cases := map[string]struct {
		reason  string
		err     error
		code    int
		message string
	}{
		"Nil":       {"No error is success.", nil, exitOK, ""},
		"Findings":  {"What was printed already is not said again.", errFindings(), exitFindings, ""},
		"Usage":     {"Usage errors have their own code.", usageErrorf("no %s", "file"), exitUsage, "no file"},
		"Cluster":   {"Errors of the cluster have their own code.", clusterError(errors.New("refused")), exitCluster, "refused"},
		"NoCluster": {"A clean end of run is success.", clusterError(nil), exitOK, ""},
		"Wrapped":   {"The code survives wrapping.", fmt.Errorf("running: %w", usageErrorf("no file")), exitUsage, "no file"},
		"Cobra":     {"What no command classified comes from cobra: wrong usage.", errors.New("unknown flag"), exitUsage, "unknown flag"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			code, message := exitCode(tc.err)
			if code != tc.code || message != tc.message {
				t.Errorf("%s exitCode(%v) = %d, %q, want %d, %q", tc.reason, tc.err, code, message, tc.code, tc.message)
			}
		})
	}
}

func TestNamesIn(t *testing.T) {
	cases := map[string]struct {
		reason, list string
		want         []string
	}{
		"Nothing": {"An empty variable limits nothing.", "", nil},
		"Blanks":  {"Stray commas and blanks are no names.", " , ,", nil},
		"Several": {"Names are trimmed, sorted, and come once.", "b, a,b", []string{"a", "b"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, namesIn(tc.list)); diff != "" {
				t.Errorf("%s namesIn(%q): -want +got\n%s", tc.reason, tc.list, diff)
			}
		})
	}
}

func TestPlural(t *testing.T) {
	cases := map[string]struct {
		n          int
		noun, want string
	}{
		"One":      {1, "mistake", "1 mistake"},
		"None":     {0, "object", "0 objects"},
		"Policies": {2, "policy", "2 policies"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if got := pluralize(tc.n, tc.noun); got != tc.want {
				t.Errorf("plural(%d, %q) = %q, want %q", tc.n, tc.noun, got, tc.want)
			}
		})
	}
}

func TestAccessTable(t *testing.T) {
	cases := map[string]struct {
		reason  string
		entries []permissions.Entry
		want    string
	}{
		"Groups": {"Resources of the same name show their groups, others do not.", []permissions.Entry{
			{Namespace: "a", Group: "apps", Resource: "things"}, {Namespace: "a", Resource: "things", Missing: []string{"get", "list"}},
			{Namespace: "a", Group: "example.com", Resource: "others", Subresource: "status"},
		}, "NAMESPACE   THINGS.APPS   THINGS        OTHERS/STATUS\na           ok            no get,list   ok\n"},
		"Places": {"What is needed in one place only leaves a gap in the others.", []permissions.Entry{
			{Resource: "nodes"}, {Namespace: "a", Resource: "pods"},
		}, "NAMESPACE   NODES    PODS\n<all>       ok       <none>\na           <none>   ok\n"},
		"Named": {"An object by its name.", []permissions.Entry{{Namespace: "a", Resource: "serviceaccounts", Name: "robot"}},
			"NAMESPACE   SERVICEACCOUNTS[robot]\na           ok\n"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := (&accessTable{policy: "p", user: "u", entries: tc.entries}).printTable(&out); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff("Policy p as u\n"+tc.want, out.String()); diff != "" {
				t.Errorf("%s -want +got\n%s", tc.reason, diff)
			}
		})
	}
}
