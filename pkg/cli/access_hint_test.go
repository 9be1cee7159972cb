package cli_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestHint: the command under the table names who lacks what was missing, and Ambit's own
// namespace; the policies, the namespaces and the cluster are for whoever types it.
func TestHint(t *testing.T) {
	t.Parallel()
	s := newStage(t, admin)
	policy, place := s.policy(""), s.namespace("place")
	cases := map[string]struct {
		reason     string
		args, want []string
	}{
		"User":  {"A user is named as it was, quoted for a shell.", []string{"--user", "it's me"}, []string{"--user", `'it'\''s me'`, "--own-namespace", s.home}},
		"Form":  {"A ServiceAccount may have been given by its user name.", []string{"--user", "system:serviceaccount:a:b", "--finalizers"}, []string{"--service-account", "a/b", "--own-namespace", s.home, "--finalizers"}},
		"As":    {"Whoever is asked about by --as gets the rights.", []string{"--as", "alice"}, []string{"--user", "alice", "--own-namespace", s.home}},
		"Asker": {"Who asks about somebody else does not get them.", []string{"--user", "alice", "--as", "root", "--as-group", "system:masters"}, []string{"--user", "alice", "--own-namespace", s.home}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := append([]string{"--namespaces", place, "--own-namespace", s.home}, tc.args...)
			got := s.until(func(r result) bool { return r.Code == 1 }, policy, "access", args...)
			want := "  ambit rbac --missing " + strings.Join(tc.want, " ") + "\n"
			if line := got.Stderr[strings.Index(got.Stderr, "\n")+1:]; line != want {
				t.Errorf("%s got %q, want %q", tc.reason, line, want)
			}
		})
	}
}

// TestHintCaller: who asks about itself gets a command that grants to itself.
func TestHintCaller(t *testing.T) {
	t.Parallel()
	s, owner := newStage(t, ""), newStage(t, admin)
	policy, place := s.policy(""), s.namespace("place")
	got := s.ambit(policy, "access", "--namespaces", place, "--own-namespace", s.home)
	_, hint, _ := strings.Cut(got.Stderr, "ambit rbac ")
	args := strings.Fields(hint)
	if want := []string{"--missing", "--service-account", s.home + "/caller", "--own-namespace", s.home}; !cmp.Equal(want, args) {
		t.Fatalf("got %q, want %q", args, want)
	}
	args = append(args, "--namespaces", place)
	s.apply([]byte(owner.until(somethingMissing, policy, "rbac", args...).Stdout))
	s.until(allGranted, policy, "access", "--namespaces", place, "--own-namespace", s.home)
}

// TestHintOwn: who asks about itself is not in Ambit's own namespace for that, and the
// command that is shown does not take it to be.
func TestHintOwn(t *testing.T) {
	t.Parallel()
	s := newStage(t, "")
	policy := bytes.Replace(s.policy(""), []byte("namespace: "+s.home), []byte("namespace: ambit-system"), 1)
	got := s.ambit(policy, "access", "--namespaces", s.namespace("place"))
	if want := " --service-account " + s.home + "/caller --own-namespace ambit-system\n"; got.Code != 1 || !strings.Contains(got.Stderr, want) {
		t.Errorf("got %+v, want %q in it", got, want)
	}
}
