package filesource

import (
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/pkg/policysource/registry"
	"github.com/ambit-dev/ambit/test/policytext"
)

// outcome is what becomes of a policy whose file is not found any more.
type outcome string

const (
	runs    outcome = "runs"
	stopped outcome = "stopped"
	retired outcome = "retired"
	gone    outcome = "gone"
)

// outcomeOf returns what a decision makes of a policy.
func outcomeOf(d registry.Decision, id string) outcome {
	for _, p := range d.Retire {
		if registry.ProgramID(p) == id {
			return retired
		}
	}
	for _, p := range d.Programs {
		if registry.ProgramID(p) == id {
			return runs
		}
	}
	for _, p := range d.Policies {
		if p.State == registry.Stopped && p.Namespace+"/"+p.Name == id {
			return stopped
		}
	}
	return gone
}

// TestRemoval: only a file that is gone from a folder that can be read is deleted, and only then its policy is cleaned up
// after. Whatever else may have happened to it, nobody has said so.
func TestRemoval(t *testing.T) {
	remove := func(names ...string) func(folder) {
		return func(f folder) {
			for _, name := range names {
				must(f.T, os.RemoveAll(f.dir+"/"+name))
			}
		}
	}
	for name, c := range map[string]struct {
		reason    string
		arguments []string
		change    func(folder)
		keep      bool // Ambit is not told to clean up after removed files
		want      outcome
	}{
		"Unchanged":      {reason: "nothing has happened", arguments: []string{"d"}, change: func(folder) {}, want: runs},
		"File":           {reason: "somebody has deleted it", arguments: []string{"d"}, change: remove("d/a.yaml"), want: retired},
		"FileKept":       {reason: "but what it made is to stay", arguments: []string{"d"}, change: remove("d/a.yaml"), keep: true, want: stopped},
		"NamedFile":      {reason: "its folder says so", arguments: []string{"d/a.yaml"}, change: remove("d/a.yaml"), want: retired},
		"UncleanPaths":   {reason: "a path may be written in many ways", arguments: []string{"./d//"}, change: remove("d/a.yaml"), want: retired},
		"UncleanFile":    {reason: "that of a file, too", arguments: []string{"d/../d/a.yaml"}, change: remove("d/a.yaml"), want: retired},
		"Document":       {reason: "its text is removed from the file", arguments: []string{"d"}, change: func(f folder) { f.write("d/a.yaml", policytext.Document("other v1 owner=Other")) }, want: retired},
		"Folder":         {reason: "a volume may not be mounted", arguments: []string{"d"}, change: remove("d"), want: stopped},
		"FolderOfFile":   {reason: "that of a named file, neither", arguments: []string{"d/a.yaml"}, change: remove("d"), want: stopped},
		"OtherFolder":    {reason: "it was never in it", arguments: []string{"e", "d"}, change: remove("e"), want: runs},
		"FolderAndOther": {reason: "the other one says nothing of this one", arguments: []string{"e", "d"}, change: remove("d"), want: stopped},
		"Emptied":        {reason: "its text is removed, and was not written anew for long enough", arguments: []string{"d"}, change: func(f folder) { f.write("d/a.yaml", "") }, want: retired},
		"CutShort":       {reason: "half of a text removes nothing", arguments: []string{"d"}, change: func(f folder) { f.write("d/a.yaml", policytext.Document("cache v1 child=x garbled")) }, want: runs},
		"NoYAML":         {reason: "what it has become says nothing of what it was", arguments: []string{"d"}, change: func(f folder) { f.write("d/a.yaml", "\x00\x01") }, want: runs},
		"LinkBroken":     {reason: "the name is there", arguments: []string{"d"}, change: func(f folder) { remove("d/a.yaml")(f); f.symlink("nowhere", "d/a.yaml") }, want: runs},
		"FileIsFolder":   {reason: "a folder is no file of a folder: this one was deleted", arguments: []string{"d"}, change: func(f folder) { remove("d/a.yaml")(f); f.mkdir("d/a.yaml") }, want: retired},
		"Hidden":         {reason: "hidden files are not read: it is hidden to be removed", arguments: []string{"d"}, change: func(f folder) { must(f.T, os.Rename(f.dir+"/d/a.yaml", f.dir+"/d/.a.yaml")) }, want: retired},
		"Renamed":        {reason: "it is the same policy elsewhere", arguments: []string{"d"}, change: func(f folder) { must(f.T, os.Rename(f.dir+"/d/a.yaml", f.dir+"/d/b.yaml")) }, want: runs},
		"Moved":          {reason: "also in another folder", arguments: []string{"d", "e"}, change: func(f folder) { must(f.T, os.Rename(f.dir+"/d/a.yaml", f.dir+"/e/a.yaml")) }, want: runs},
	} {
		t.Run(name, func(t *testing.T) {
			f := folder{T: t, dir: t.TempDir()}
			t.Chdir(f.dir)
			f.write("d/a.yaml", policytext.Document("cache v1 child=x"))
			f.write("e/e.yaml", policytext.Document("else v1 owner=Else"))
			now := clocktesting.NewFakeClock(time.Now())
			s, err := New(Options{Arguments: c.arguments, Clock: now, Wake: func() {}})
			must(t, err)
			s.reader.isFresh = nil
			decisions := registry.New("own", !c.keep)
			read := func(times int) (d registry.Decision) {
				for range times {
					s.readAndCompare()
					var shown manifest.Snapshot
					s.AddTo(&shown)
					for i, m := range shown.Manifests {
						shown.Manifests[i].Contents = manifest.CompileManifest(m, "own", nil, nil)
					}
					decisions.TakeSnapshot(shown, now.Now())
					d = decisions.DecidePolicies(now.Now())
					now.Step(registry.DeletionGrace / 2)
				}
				return d
			}
			if got := outcomeOf(read(2), "own/cache"); got != runs {
				t.Fatalf("at first it is %s", got)
			}
			c.change(f)
			if diff := cmp.Diff(c.want, outcomeOf(read(4), "own/cache")); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}
