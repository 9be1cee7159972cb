package filesource

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
)

// TestStdinArgument: `-` is read once and to its end, and what cannot be read is said before anything runs.
func TestStdinArgument(t *testing.T) {
	errBroken := errors.New("broken pipe")
	for name, c := range map[string]struct {
		reason    string
		arguments []string
		in        io.Reader
		want      string
		err       error  // that is wrapped
		says      string // of an error that wraps none
	}{
		"Pipe":     {reason: "a writer may take its time over each byte", arguments: []string{"-"}, in: iotest.OneByteReader(strings.NewReader("text")), want: "text"},
		"Empty":    {reason: "that is a mistake, and the policy's place to say so", arguments: []string{"-"}, in: strings.NewReader("")},
		"NoInput":  {reason: "there is nothing to read", arguments: []string{"-"}, says: `"-" can be given once`},
		"Twice":    {reason: "the second one would be empty", arguments: []string{"-", "-"}, in: strings.NewReader("text"), says: `"-" can be given once`},
		"TooLarge": {reason: "a part of the policies is not all of them", arguments: []string{"-"}, in: strings.NewReader(strings.Repeat("x", syntax.MaxText+1)), says: fmt.Sprintf("it has more than %d bytes", syntax.MaxText)},
		"Broken":   {reason: "half of the policies are not all of them", arguments: []string{"-"}, in: io.MultiReader(strings.NewReader("half"), iotest.ErrReader(errBroken)), err: errBroken},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Arguments: c.arguments, In: c.in, Clock: clocktesting.NewFakeClock(time.Now())})
			if c.err != nil || c.says != "" {
				if err == nil || !errors.Is(err, c.err) && c.err != nil || !strings.Contains(err.Error(), c.says) {
					t.Errorf("%s: the error is %v", c.reason, err)
				}
				return
			}
			must(t, err)
			if settled := s.AddTo(&manifest.Snapshot{}); settled {
				t.Errorf("%s: it counts as read before the first reading", c.reason)
			}
			woken := 0
			s.wake = func() { woken++ }
			s.readAndCompare()
			s.readAndCompare()
			var shown manifest.Snapshot
			settled := s.AddTo(&shown)
			if len(shown.Manifests) != 1 || !settled || woken != 1 {
				t.Fatalf("%s: it has %d manifests, settled: %t, and woke %d times", c.reason, len(shown.Manifests), settled, woken)
			}
			got := shown.Manifests[0]
			want := manifest.Manifest{Origin: manifest.Origin{Kind: manifest.File, File: "<stdin>"}, Data: []byte(c.want), Steady: true}.WithDigest()
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			if coverage := shown.CoverageOf(manifest.Origin{Kind: manifest.File, File: "<stdin>"}); coverage != manifest.NotSeen {
				t.Errorf("what was piped in could be removed: %d", coverage)
			}
		})
	}
}

// TestStdinBesideFiles: what is piped in stays when the folders beside it come and go.
func TestStdinBesideFiles(t *testing.T) {
	f := folder{T: t, dir: t.TempDir()}
	s, err := New(Options{Arguments: []string{f.dir + "/d", "-"}, In: strings.NewReader("piped"), Clock: clocktesting.NewFakeClock(time.Now()), Wake: func() {}})
	must(t, err)
	for _, step := range []struct {
		do   func()
		want []string
	}{
		{do: func() {}, want: []string{"<stdin>"}},
		{do: func() { f.write("d/a.yaml", "x"); s.reader.isFresh = nil }, want: []string{"<stdin>", f.dir + "/d/a.yaml"}},
		{do: func() { must(t, os.RemoveAll(f.dir+"/d")) }, want: []string{"<stdin>"}},
	} {
		step.do()
		s.readAndCompare()
		var shown manifest.Snapshot
		s.AddTo(&shown)
		var got []string
		for _, m := range shown.Manifests {
			got = append(got, m.Origin.File)
		}
		if diff := cmp.Diff(step.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}
