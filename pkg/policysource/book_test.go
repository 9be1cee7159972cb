package policysource

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

	"github.com/ambit-dev/ambit/pkg/policy"
)

var rewrite = flag.Bool("rewrite", false, "write the expected output of the files in testdata")

// TestBook runs the files in testdata. Each is a story of blocks: lines that change what
// the shelves hold, `----`, and the decision that follows. A line is one of
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
func TestBook(t *testing.T) {
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

// story is a book and what the shelves hold.
type story struct {
	t        *testing.T
	book     *book
	now      time.Time
	texts    map[Origin]text
	unseen   map[Kind]bool
	gone     bool              // the folder of the files
	versions map[string]string // by hash
}

func newStory(t *testing.T) *story {
	return &story{t: t, book: newBook("ambit-system"), now: began, texts: map[Origin]text{}, unseen: map[Kind]bool{}, versions: map[string]string{}}
}

func (s *story) play(lines []string) string {
	for _, line := range lines {
		if line != "" && !strings.HasPrefix(line, "#") {
			s.line(line)
		}
	}
	s.book.read(s.snapshot(), s.now)
	return s.print(s.book.decide(s.now))
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
		s.unseen[Kind(words[1])] = true
	case "seen":
		delete(s.unseen, Kind(words[1]))
	case "retire":
		s.book.retireFiles = true
	case "unmounted":
		s.gone = true
		maps.DeleteFunc(s.texts, func(o Origin, _ text) bool { return o.Kind == File })
	case "cleaned":
		s.book.finished(words[1], "")
	case "gone":
		o, _ := originIn(words[1:])
		delete(s.texts, o)
	case "unreadable":
		o, _ := originIn(words[1:])
		unread := text{origin: o, unread: errors.New(o.String() + ": it cannot be read: permission denied")}
		unread.digest, unread.size = digestOf(unread)
		s.texts[o] = unread
	default:
		o, rest := originIn(words)
		s.texts[o] = s.text(o, rest, body)
	}
}

func originIn(words []string) (Origin, []string) {
	o := Origin{Kind: Kind(words[0])}
	if o.Kind == File {
		o.File = words[1]
		return o, words[2:]
	}
	o.Namespace, o.Name, _ = strings.Cut(words[1], "/")
	if o.Kind == ConfigMap {
		o.Key = words[2]
		return o, words[3:]
	}
	return o, words[2:]
}

func (s *story) text(o Origin, words []string, body string) text {
	t := text{origin: o, generation: 1, steady: true}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "created":
			after, err := time.ParseDuration(value)
			if err != nil {
				s.t.Fatal(err)
			}
			t.created = began.Add(after)
		case "uid":
			t.uid = types.UID(value)
		case "half":
			t.steady = false
		case "guarded":
			t.guarded = true
		case "unguardable":
			t.unguardable = true
		case "deleting":
			t.deleting = true
		default:
			s.t.Fatalf("unknown word %q", word)
		}
	}
	var documents []string
	for _, d := range strings.Split(body, ";") {
		if d = strings.TrimSpace(d); d != "" {
			documents = append(documents, documentText(d))
		}
	}
	t.data = []byte(strings.Join(documents, "---\n"))
	if o.Kind == CustomResource {
		t.object, t.data = objectOf(s.t, t.data, o), nil
	}
	t.digest, t.size = digestOf(t)
	s.remember(t, body)
	return t
}

// remember notes which version has which hash.
func (s *story) remember(t text, body string) {
	list, _ := parse(t)
	for i, d := range list {
		if c := compileDocument(d.document, t.origin, s.book.own, policy.Compile); c.program != nil {
			s.versions[c.program.Hash] = strings.Fields(strings.Split(body, ";")[i])[1]
		}
	}
}

func (s *story) snapshot() snapshot {
	out := snapshot{within: func(string) string { return "" }}
	for _, kind := range []Kind{File, CustomResource, ConfigMap} {
		switch {
		case kind == File && s.gone:
			out.gone = append(out.gone, place{kind: kind})
		case !s.unseen[kind]:
			out.complete = append(out.complete, place{kind: kind})
		}
	}
	for _, o := range slices.SortedFunc(maps.Keys(s.texts), compareOrigins) {
		if !s.unseen[o.Kind] {
			out.texts = append(out.texts, s.texts[o])
		}
	}
	return out
}

func (s *story) print(d decision) string {
	var lines []string
	for _, p := range d.programs {
		as := "Ambit"
		if p.ServiceAccount != "" {
			as = p.ServiceAccount
		}
		what := s.versions[p.Hash]
		if p.CleanupOnly != nil {
			what = "salvaged"
		}
		line := fmt.Sprintf("run %s %s as %s", idOf(p), what, as)
		if len(p.Namespaces) > 0 {
			line += " in " + strings.Join(p.Namespaces, ",")
		}
		lines = append(lines, line)
	}
	for _, p := range d.retire {
		lines = append(lines, "retire "+idOf(p))
	}
	for _, doc := range d.documents {
		lines = append(lines, printDocument(doc))
	}
	if !d.next.IsZero() {
		lines = append(lines, "next at "+d.next.Sub(began).String())
	}
	if len(lines) == 0 {
		return "nothing"
	}
	return strings.Join(lines, "\n")
}

func printDocument(d document) string {
	line := fmt.Sprintf("%q of %s: %s", d.name, d.origin, d.state)
	for _, word := range []struct {
		name string
		on   bool
	}{{"held", d.held}, {"retiring", d.retiring}, {"done", d.done}, {"missing", d.missing}} {
		if word.on {
			line += ", " + word.name
		}
	}
	if d.message != "" {
		line += ": " + d.reason + ": " + strings.ReplaceAll(d.message, "\n", " | ")
	}
	return line
}
