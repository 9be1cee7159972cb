package manifest

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/policytext"
)

var (
	fileOrigin      = Origin{Kind: File, File: "a.yaml"}
	configMapOrigin = Origin{Kind: ConfigMap, Namespace: "team", Name: "maps", Key: "a.yaml"}
	resourceOrigin  = Origin{Kind: CustomResource, Namespace: "team", Name: "cache"}
)

// joinDocuments is the YAML of several policies in one text.
func joinDocuments(all ...string) []byte { return []byte(strings.Join(all, "---\n")) }

// nested is a mapping in a mapping, so many times.
func nested(depth int) any {
	var value any = "x"
	for range depth {
		value = map[string]any{"a": value}
	}
	return value
}

// describeDocument says what became of a document: what is run, or what would clean up, and where its first mistake is.
func describeDocument(d Document) string {
	line := fmt.Sprintf("%d %s/%s", d.Index, d.Namespace, d.Name)
	switch c := d.Compiled; {
	case c.Program != nil:
		line += " runs as " + c.Program.Namespace + "/" + c.Program.Name
	case c.CleanupOnly != nil:
		line += " cleans up"
	default:
		line += " does nothing"
	}
	if d.Compiled.Mistake != nil {
		place, _, _ := strings.Cut(BriefMessage(d.Compiled.Mistake), ": ")
		line += ", mistake at " + place
	}
	return line
}

// TestCompile: what is legible of a manifest is compiled, whatever else stands in it; where it stands
// decides in which namespace its policies are.
func TestCompile(t *testing.T) {
	text := policytext.Document
	object := func(words string) map[string]any {
		return policytext.Object(t, []byte(text(words)), "team", "cache")
	}
	withField := func(key string, value any) map[string]any {
		o := object("cache v1")
		o[key] = value
		return o
	}
	for name, c := range map[string]struct {
		reason     string
		manifest   Manifest
		want       []string
		unreadable string
	}{
		"OwnNamespace": {reason: "a policy of a file without a namespace is in Ambit's own", manifest: Manifest{Origin: fileOrigin, Data: joinDocuments(text("cache v1"))},
			want: []string{"0 own/cache runs as own/cache"}},
		"FileNamespace": {reason: "whoever writes files runs Ambit, and may name any namespace", manifest: Manifest{Origin: fileOrigin, Data: joinDocuments(text("cache v1 ns=other"))},
			want: []string{"0 other/cache runs as other/cache"}},
		"OneBroken": {reason: "a mistake is that of one policy", manifest: Manifest{Origin: fileOrigin, Data: joinDocuments(text("a v1"), text("b v1 broken"), text("c v1 opaque"))},
			want: []string{"0 own/a runs as own/a", "1 own/b cleans up, mistake at a.yaml:13:17", "2 own/c does nothing, mistake at a.yaml:19:45"}},
		"SameName": {reason: "which of them is run is not decided here", manifest: Manifest{Origin: fileOrigin, Data: joinDocuments(text("a v1"), text("a v2"))},
			want: []string{"0 own/a runs as own/a", "1 own/a runs as own/a"}},
		"Garbled": {reason: "what stands before the end of legible YAML is known, so that it is not taken for removed", manifest: Manifest{Origin: fileOrigin, Data: joinDocuments(text("a v1"), text("b v1 garbled"))},
			want: []string{"0 own/a runs as own/a"}, unreadable: "a.yaml:14:3: "},
		"Empty":        {reason: "it may have been emptied, or may just be written anew", manifest: Manifest{Origin: fileOrigin}, unreadable: "a.yaml: there is no policy in it"},
		"CommentOnly":  {reason: "that is no policy either", manifest: Manifest{Origin: fileOrigin, Data: []byte("# later\n---\n")}, unreadable: "a.yaml: there is no policy in it"},
		"Binary":       {reason: "it is no YAML", manifest: Manifest{Origin: fileOrigin, Data: []byte("\x7fELF\x00\x01")}, unreadable: "a.yaml:1:"},
		"CannotBeRead": {reason: "the error of reading is the one that counts", manifest: Manifest{Origin: fileOrigin, Data: joinDocuments(text("a v1")), Unreadable: errors.New("a.yaml: no")}, unreadable: "a.yaml: no"},
		"EmptyKey":     {reason: "an API server stores no half of a ConfigMap: who empties a key means it", manifest: Manifest{Origin: configMapOrigin}},
		"KeyNamespace": {reason: "a ConfigMap's policies are in its namespace", manifest: Manifest{Origin: configMapOrigin, Data: joinDocuments(text("a v1"), text("b v1 ns=team"))}, want: []string{"0 team/a runs as team/a", "1 team/b runs as team/b"}},
		"ForeignPolicy": {reason: "who writes ConfigMaps in one namespace makes no policy in another one, not even one that cleans up", manifest: Manifest{Origin: configMapOrigin, Data: joinDocuments(text("a v1 ns=own"), text("b v1 ns=own broken"))},
			want: []string{"0 team/a does nothing, mistake at configmap team/maps a.yaml", "1 team/b does nothing, mistake at configmap team/maps a.yaml:13:17"}},
		"Resource":       {reason: "the API server has checked little of it", manifest: Manifest{Origin: resourceOrigin, Object: object("cache v1")}, want: []string{"0 team/cache runs as team/cache"}},
		"BrokenResource": {reason: "what is legible of it cleans up", manifest: Manifest{Origin: resourceOrigin, Object: object("cache v1 broken")}, want: []string{"0 team/cache cleans up, mistake at reconcilepolicy team/cache"}},
		"SpecIsText":     {reason: "a schema may have been replaced by one that lets everything pass", manifest: Manifest{Origin: resourceOrigin, Object: withField("spec", "x")}, want: []string{"0 team/cache does nothing, mistake at reconcilepolicy team/cache"}},
		"SpecIsGone":     {reason: "nothing is legible of it, and it has a name", manifest: Manifest{Origin: resourceOrigin, Object: withField("spec", nil)}, want: []string{"0 team/cache does nothing, mistake at reconcilepolicy team/cache"}},
		"TooDeep":        {reason: "nobody walks through it", manifest: Manifest{Origin: resourceOrigin, Object: withField("spec", nested(2000))}, unreadable: "reconcilepolicy team/cache: "},
	} {
		t.Run(name, func(t *testing.T) {
			r := CompileManifest(c.manifest, "own", nil, nil)
			var got []string
			for _, d := range r.Documents {
				got = append(got, describeDocument(d))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
			unreadable := ""
			if r.Unreadable != nil {
				unreadable = BriefMessage(r.Unreadable)
			}
			if !strings.HasPrefix(unreadable, c.unreadable) || c.unreadable == "" && unreadable != "" {
				t.Errorf("%s: it is unreadable as %q, want %q...", c.reason, unreadable, c.unreadable)
			}
		})
	}
}

// TestIdentity: a policy from a file acts as Ambit, and one of the cluster as an account of its own namespace.
func TestIdentity(t *testing.T) {
	for name, c := range map[string]struct {
		reason string
		origin Origin
		words  string
		want   string
	}{
		"File":        {reason: "it comes with Ambit", origin: fileOrigin, words: "a v1"},
		"FileAccount": {reason: "it asks for less", origin: fileOrigin, words: "a v1 account=web", want: "web"},
		"Foreign":     {reason: "whoever writes policies in a team's namespace has no more rights than its accounts", origin: configMapOrigin, words: "a v1", want: "default"},
		"Account":     {reason: "it names one", origin: configMapOrigin, words: "a v1 account=web", want: "web"},
		"Own":         {reason: "whoever writes in Ambit's own namespace runs Ambit", origin: Origin{Kind: ConfigMap, Namespace: "own", Name: "maps", Key: "a.yaml"}, words: "a v1"},
	} {
		r := CompileManifest(Manifest{Origin: c.origin, Data: []byte(policytext.Document(c.words))}, "own", nil, nil)
		if program := r.Documents[0].Compiled.Program; program == nil || program.ServiceAccount != c.want {
			t.Errorf("%s: %s: it is %+v, want the account %q", name, c.reason, program, c.want)
		}
	}
}

// TestSchemas: schemas are asked for once a manifest, of policies with mistakes too, and not without need; those of
// one policy are bounded, so that the API server is not asked for thousands.
func TestSchemas(t *testing.T) {
	many := policytext.Document("b v1") + "  watches:\n"
	for i := range 2 * maxKinds {
		many += fmt.Sprintf("    - {id: w%d, apiVersion: v1, kind: Kind%d}\n", i, i)
	}
	for name, c := range map[string]struct {
		reason string
		data   []byte
		calls  int
		kinds  []string // some that are asked for
		count  int
	}{
		"Two":   {reason: "one call for all policies", data: joinDocuments(policytext.Document("a v1"), policytext.Document("b v1 owner=Other child=x")), calls: 1, kinds: []string{"App", "Other", "ConfigMap"}, count: 3},
		"None":  {reason: "there is no policy", data: []byte("# none\n")},
		"Wrong": {reason: "its fields are checked too", data: joinDocuments(policytext.Document("a v1 broken")), calls: 1, kinds: []string{"App"}, count: 1},
		"Many":  {reason: "more than a policy may have", data: joinDocuments(policytext.Document("a v1"), many), calls: 1, kinds: []string{"App", "Kind0"}, count: 1 + maxKinds},
	} {
		t.Run(name, func(t *testing.T) {
			calls, asked := 0, []schema.GroupVersionKind{}
			CompileManifest(Manifest{Origin: fileOrigin, Data: c.data}, "own", nil, func(kinds []schema.GroupVersionKind) policy.Schemas {
				calls++
				asked = kinds
				return nil
			})
			if calls != c.calls || len(asked) != c.count {
				t.Errorf("%s: %d calls for %d kinds, want %d for %d", c.reason, calls, len(asked), c.calls, c.count)
			}
			names := map[string]bool{}
			for _, kind := range asked {
				names[kind.Kind] = true
			}
			for _, want := range c.kinds {
				if !names[want] {
					t.Errorf("%s: %s is not asked for: %v", c.reason, want, asked)
				}
			}
		})
	}
}
