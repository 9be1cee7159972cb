package filesource

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ambit-dev/ambit/pkg/policy/syntax"
)

// folder is a folder that a case fills.
type folder struct {
	*testing.T
	dir string
}

func (f folder) write(name, text string) {
	f.Helper()
	path := filepath.Join(f.dir, name)
	must(f.T, os.MkdirAll(filepath.Dir(path), 0o700))
	must(f.T, os.WriteFile(path, []byte(text), 0o600))
}

func (f folder) mkdir(name string) {
	f.Helper()
	must(f.T, os.MkdirAll(filepath.Join(f.dir, name), 0o700))
}

func (f folder) symlink(target, name string) {
	f.Helper()
	must(f.T, os.Symlink(target, filepath.Join(f.dir, name)))
}

// describe says what a reading holds, a line for each thing, with paths below the folder.
func (f folder) describe(r fileReading) []string {
	var lines []string
	for _, m := range r.manifests {
		line := "read " + m.Origin.File + ": " + string(m.Data)
		if m.Unreadable != nil {
			line = "unreadable " + m.Unreadable.Error()
		}
		lines = append(lines, line)
	}
	for _, location := range r.complete {
		lines = append(lines, "complete "+location.Argument)
	}
	for _, location := range r.missing {
		lines = append(lines, "missing "+location.Argument)
	}
	for _, problem := range r.problems {
		lines = append(lines, "problem "+problem)
	}
	for i := range lines {
		lines[i] = strings.ReplaceAll(lines[i], f.dir+string(filepath.Separator), "")
	}
	return lines
}

// TestReadAll: what is read of folders and files, and of which arguments everything is known. Only then may what is
// missing count as removed.
func TestReadAll(t *testing.T) {
	large := strings.Repeat("x", syntax.MaxText+1)
	for name, c := range map[string]struct {
		reason    string
		make      func(folder)
		arguments []string
		want      []string
	}{
		"Folder": {reason: "YAML files directly in it", arguments: []string{"d"},
			make: func(f folder) {
				for _, name := range []string{"b.yml", "a.yaml", "notes.txt", "a.yaml~", ".a.yaml", ".#a.yaml", "nested/c.yaml", "folder.yaml/d.yaml"} {
					f.write("d/"+name, name)
				}
			},
			want: []string{"read d/a.yaml: a.yaml", "read d/b.yml: b.yml", "complete d"}},
		"EmptyFolder": {reason: "all of it is known", arguments: []string{"d"}, make: func(f folder) { f.mkdir("d") }, want: []string{"complete d"}},
		"OneFile":     {reason: "who names a file means it, whatever its name", arguments: []string{"d/policy"}, make: func(f folder) { f.write("d/policy", "x") }, want: []string{"read d/policy: x", "complete d/policy"}},
		"Twice": {reason: "a file that two arguments lead to is one manifest", arguments: []string{"d/a.yaml", "d", "d/../d/./a.yaml"}, make: func(f folder) { f.write("d/a.yaml", "x") },
			want: []string{"read d/a.yaml: x", "complete d/a.yaml", "complete d", "complete d/../d/./a.yaml"}},
		"FileGone": {reason: "its folder says that it was deleted", arguments: []string{"d/a.yaml"}, make: func(f folder) { f.mkdir("d") }, want: []string{"complete d/a.yaml"}},
		"FolderGone": {reason: "nobody says what was in it", arguments: []string{"d"}, make: func(folder) {},
			want: []string{"missing d", "problem d: stat d: no such file or directory"}},
		"FileAndFolderGone": {reason: "a volume may not be mounted", arguments: []string{"d/a.yaml"}, make: func(folder) {},
			want: []string{"missing d/a.yaml", "problem d/a.yaml: open d: no such file or directory"}},
		"UnclearGone": {reason: "it may have been a folder", arguments: []string{"d/policies"}, make: func(f folder) { f.mkdir("d") },
			want: []string{"missing d/policies", "problem d/policies: stat d/policies: no such file or directory"}},
		"OneOfTwo": {reason: "an argument that cannot be read takes nothing from the others", arguments: []string{"d", "e"}, make: func(f folder) { f.write("e/a.yaml", "x") },
			want: []string{"read e/a.yaml: x", "complete e", "missing d", "problem d: stat d: no such file or directory"}},
		"FileInTheWay": {reason: "what cannot be looked at is neither complete nor gone", arguments: []string{"d/a.yaml"}, make: func(f folder) { f.write("d", "x") },
			want: []string{"problem d/a.yaml: stat d/a.yaml: not a directory"}},
		"LinkedFile":   {reason: "so do volumes", arguments: []string{"d"}, make: func(f folder) { f.write("d/..data/a.yaml", "x"); f.symlink("..data/a.yaml", "d/a.yaml") }, want: []string{"read d/a.yaml: x", "complete d"}},
		"LinkedFolder": {reason: "so do people", arguments: []string{"d"}, make: func(f folder) { f.write("e/a.yaml", "x"); f.symlink("e", "d") }, want: []string{"read d/a.yaml: x", "complete d"}},
		"Dangling": {reason: "the file is named, so that it was not deleted", arguments: []string{"d"}, make: func(f folder) { f.write("d/b.yaml", "x"); f.symlink("nowhere", "d/a.yaml") },
			want: []string{"unreadable d/a.yaml: it cannot be read: no such file or directory", "read d/b.yaml: x", "complete d"}},
		"DanglingFile": {reason: "nor was one that is named", arguments: []string{"d/a.yaml"}, make: func(f folder) { f.mkdir("d"); f.symlink("nowhere", "d/a.yaml") },
			want: []string{"unreadable d/a.yaml: it cannot be read: no such file or directory", "complete d/a.yaml"}},
		"Device": {reason: "it has no end, and no size", arguments: []string{"d"}, make: func(f folder) { f.mkdir("d"); f.symlink("/dev/zero", "d/a.yaml") },
			want: []string{"unreadable d/a.yaml: it is no regular file, which can be read again", "complete d"}},
		"LinkToFolder": {reason: "it has no text", arguments: []string{"d"}, make: func(f folder) { f.mkdir("d"); f.symlink(".", "d/a.yaml") },
			want: []string{"unreadable d/a.yaml: it is no regular file, which can be read again", "complete d"}},
		"LinkLoop": {reason: "it has no end", arguments: []string{"d"}, make: func(f folder) { f.mkdir("d"); f.symlink("b.yaml", "d/a.yaml"); f.symlink("a.yaml", "d/b.yaml") },
			want: []string{"unreadable d/a.yaml: it cannot be read: too many levels of symbolic links", "unreadable d/b.yaml: it cannot be read: too many levels of symbolic links", "complete d"}},
		"TooLarge": {reason: "it would take memory without a bound", arguments: []string{"d"}, make: func(f folder) { f.write("d/a.yaml", large) },
			want: []string{fmt.Sprintf("unreadable d/a.yaml: it cannot be read: it has more than %d bytes", syntax.MaxText), "complete d"}},
		"Largest": {reason: "it is just small enough", arguments: []string{"d"}, make: func(f folder) { f.write("d/a.yaml", large[1:]) }, want: []string{"read d/a.yaml: " + large[1:], "complete d"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := folder{T: t, dir: t.TempDir()}
			c.make(f)
			var arguments []string
			for _, argument := range c.arguments {
				arguments = append(arguments, f.dir+string(filepath.Separator)+argument)
			}
			if diff := cmp.Diff(c.want, f.describe(fileReader{arguments: arguments}.readAll())); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

// TestJustWritten: a file is fresh for as long as two readings of it are compared, by its own time.
func TestJustWritten(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		age    time.Duration
		want   bool
	}{
		"Now":    {reason: "it may be written still", want: true},
		"Second": {reason: "a writer that takes longer over a line is not noticed", age: steadyInterval},
		"Almost": {reason: "it is not a second", age: steadyInterval - time.Millisecond, want: true},
		"Old":    {reason: "it was there before Ambit started", age: time.Hour},
		"Future": {reason: "clocks of file servers differ: it is read twice", age: -time.Hour, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := folder{T: t, dir: t.TempDir()}
				f.write("a.yaml", "x")
				path := filepath.Join(f.dir, "a.yaml")
				at := time.Now().Add(-c.age)
				must(t, os.Chtimes(path, at, at))
				for _, has := range []struct {
					isFresh func(fs.FileInfo) bool
					want    bool
				}{{wasJustWritten, c.want}, {nil, false}} {
					if m := (fileReader{isFresh: has.isFresh}).readFile(path); m.JustWritten != has.want {
						t.Errorf("%s: it was just written: %t", c.reason, m.JustWritten)
					}
				}
			})
		})
	}
}
