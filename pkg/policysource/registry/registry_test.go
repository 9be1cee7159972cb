package registry

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/policysource/manifest"
	"github.com/ambit-dev/ambit/test/policytext"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of the files in testdata")

// TestDecisions runs the files in testdata. Each is a story of blocks: lines that change what
// the sources hold, `----`, and the decision that follows. A line is one of
//
//	at 5s                                      the time
//	file a.yaml: DOC; DOC                      a text, new or changed
//	crd ns/name [WORDS]: DOC
//	configmap ns/name key [WORDS]: DOC
//	gone ORIGIN                                it is not there any more
//	unreadable ORIGIN                          it is there, and cannot be read
//	unseen KIND, seen KIND                     nothing is known of a kind any more, or again
//	cleaned ID                                 the engine has cleaned up
//
//	retire removed files                       as by the flag of that name
//	unmounted                                  the folder of the files is not there
//
// WORDS are half (the file was not read like this twice), created=3s, uid=u, guarded, unguardable, deleting. A DOC is `name v1` and
// owner=Kind, ns=x, account=x, scope=x,y, select=label:x,y, exclude=x, child=x,y, suspend, retire, broken (it does not
// compile), opaque (nor can it be salvaged), garbled (no YAML from here on).
func TestDecisions(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { playFile(t, file) })
	}
}

func playFile(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newStory(t)
	var out []string
	for _, block := range strings.Split(strings.TrimSpace(string(data)), "\n\n") {
		input, _, _ := strings.Cut(block, "\n----")
		out = append(out, input+"\n----\n"+s.play(strings.Split(input, "\n")))
	}
	got := strings.Join(out, "\n\n") + "\n"
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(string(data), got); diff != "" && !*rewrite {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// began is the time 0 of stories.
var began = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// story is a book and what the sources hold.
type story struct {
	t        *testing.T
	registry *Registry
	now      time.Time
	texts    map[manifest.Origin]manifest.Manifest
	unseen   map[manifest.Kind]bool
	gone     bool              // the folder of the files
	versions map[string]string // by hash
}

func newStory(t *testing.T) *story {
	return &story{t: t, registry: New("ambit-system", false), now: began, texts: map[manifest.Origin]manifest.Manifest{}, unseen: map[manifest.Kind]bool{}, versions: map[string]string{}}
}

func (s *story) play(lines []string) string {
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, "#") {
			s.line(line)
		}
	}
	s.registry.TakeSnapshot(s.snapshot(), s.now)
	return s.print(s.registry.DecidePolicies(s.now))
}

func (s *story) line(line string) {
	head, body, _ := strings.Cut(line+" ", ": ")
	words := strings.Fields(head)
	switch words[0] {
	case "at":
		after, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.now = began.Add(after)
	case "unseen":
		s.unseen[manifest.Kind(words[1])] = true
	case "seen":
		delete(s.unseen, manifest.Kind(words[1]))
	case "retire":
		s.registry.retireRemovedFiles = true
	case "unmounted":
		s.gone = true
		maps.DeleteFunc(s.texts, func(o manifest.Origin, _ manifest.Manifest) bool { return o.Kind == manifest.File })
	case "cleaned":
		s.registry.FinishCleanup(words[1], "")
	case "gone":
		o, _ := originIn(words[1:])
		delete(s.texts, o)
	case "unreadable":
		o, _ := originIn(words[1:])
		unread := manifest.Manifest{Origin: o, Unreadable: errors.New(o.String() + ": it cannot be read: permission denied")}
		unread = unread.WithDigest()
		s.texts[o] = unread
	default:
		o, rest := originIn(words)
		s.texts[o] = s.text(o, rest, body)
	}
}

func originIn(words []string) (manifest.Origin, []string) {
	o := manifest.Origin{Kind: manifest.Kind(words[0])}
	if o.Kind == manifest.File {
		o.File = words[1]
		return o, words[2:]
	}
	o.Namespace, o.Name, _ = strings.Cut(words[1], "/")
	if o.Kind == manifest.ConfigMap {
		o.Key = words[2]
		return o, words[3:]
	}
	return o, words[2:]
}

func (s *story) text(o manifest.Origin, words []string, body string) manifest.Manifest {
	t := manifest.Manifest{Origin: o, Generation: 1, Steady: true}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "created":
			after, err := time.ParseDuration(value)
			if err != nil {
				s.t.Fatal(err)
			}
			t.Created = began.Add(after)
		case "uid":
			t.UID = types.UID(value)
		case "half":
			t.Steady = false
		case "guarded":
			t.HasFinalizer = true
		case "unguardable":
			t.CannotSetFinalizer = true
		case "deleting":
			t.Deleting = true
		default:
			s.t.Fatalf("unknown word %q", word)
		}
	}
	var documents []string
	for _, d := range strings.Split(body, ";") {
		if d = strings.TrimSpace(d); d != "" {
			documents = append(documents, policytext.Document(d))
		}
	}
	t.Data = []byte(strings.Join(documents, "---\n"))
	if o.Kind == manifest.CustomResource {
		t.Object, t.Data = policytext.Object(s.t, t.Data, o.Namespace, o.Name), nil
	}
	t = t.WithDigest()
	s.remember(t, body)
	return t
}

// remember notes which version has which hash.
func (s *story) remember(t manifest.Manifest, body string) {
	for i, d := range manifest.CompileManifest(t, s.registry.ownNamespace, nil, nil).Documents {
		if p := d.Compiled.Program; p != nil {
			s.versions[p.Hash] = strings.Fields(strings.Split(body, ";")[i])[1]
		}
	}
}

func (s *story) snapshot() manifest.Snapshot {
	out := manifest.Snapshot{ArgumentOf: func(string) string { return "" }}
	for _, kind := range []manifest.Kind{manifest.File, manifest.CustomResource, manifest.ConfigMap} {
		switch {
		case kind == manifest.File && s.gone:
			out.Missing = append(out.Missing, manifest.Location{Kind: kind})
		case !s.unseen[kind]:
			out.Complete = append(out.Complete, manifest.Location{Kind: kind})
		}
	}
	for _, o := range slices.SortedFunc(maps.Keys(s.texts), manifest.CompareOrigins) {
		if !s.unseen[o.Kind] {
			out.Manifests = append(out.Manifests, s.texts[o])
		}
	}
	return out
}

func (s *story) print(d Decision) string {
	var lines []string
	for _, p := range d.Programs {
		as := "Ambit"
		if p.ServiceAccount != "" {
			as = p.ServiceAccount
		}
		what := s.versions[p.Hash]
		if p.CleanupOnly != nil {
			what = "salvaged"
		}
		line := fmt.Sprintf("run %s %s as %s", ProgramID(p), what, as)
		if len(p.Namespaces) > 0 {
			line += " in " + strings.Join(p.Namespaces, ",")
		}
		lines = append(lines, line)
	}
	for _, p := range d.Retire {
		lines = append(lines, "retire "+ProgramID(p))
	}
	for _, doc := range d.Policies {
		lines = append(lines, printDocument(doc))
	}
	if !d.Next.IsZero() {
		lines = append(lines, "next at "+d.Next.Sub(began).String())
	}
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func printDocument(d PolicyState) string {
	line := fmt.Sprintf("%q of %s: %s", d.Name, d.Origin, d.State)
	for _, word := range []struct {
		name string
		on   bool
	}{{"held", d.AwaitsFinalizer}, {"retiring", d.Retiring}, {"done", d.CleanedUp}, {"missing", d.Missing}} {
		if word.on {
			line += ", " + word.name
		}
	}
	if d.Message != "" {
		line += ": " + d.Reason + ": " + strings.ReplaceAll(d.Message, "\n", " | ")
	}
	return line
}
