package cli

import (
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/manager"
)

// TestElection: which Pod this process runs in is what the manifest says.
func TestElection(t *testing.T) {
	t.Setenv(podNameVar, "ambit-0")
	t.Setenv(podUIDVar, "1234")
	o := runOptions{Election: manager.ElectionLife, Namespace: "ambit-system"}
	want := manager.Election{Mode: manager.ElectionLife, Namespace: "ambit-system", Pod: "ambit-0", PodUID: "1234"}
	if diff := cmp.Diff(want, o.electionOptions()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestOwnNamespace(t *testing.T) {
	for name, test := range map[string]struct {
		reason, env, file, want string
	}{
		"environment": {reason: "the manifest goes first", env: "a", file: "b", want: "a"},
		"account":     {reason: "a Pod knows its namespace", file: "b\n", want: "b"},
		"empty file":  {reason: "an empty file says nothing", file: "\n", want: "ambit-system"},
		"nothing":     {reason: "outside of a cluster", want: "ambit-system"},
	} {
		t.Run(name, func(t *testing.T) {
			got := ownNamespace(func(string) string { return test.env }, func(string) ([]byte, error) {
				if test.file == "" {
					return nil, fs.ErrNotExist
				}
				return []byte(test.file), nil
			})
			if got != test.want {
				t.Errorf("%s: got %q, want %q", test.reason, got, test.want)
			}
		})
	}
}
