package manifests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/pkg/policy/syntax"
	"github.com/ambit-dev/ambit/test/raced"
)

// good is a policy of a name without mistakes; typed has a field that things do not have, and
// broken an expression that does not compile.
func good(name string) string   { return aPolicy(name, "${owner.metadata.name}") }
func typed(name string) string  { return aPolicy(name, "${owner.spec.sise}") }
func broken(name string) string { return aPolicy(name, "${}") }

func aPolicy(name, child string) string {
	return `apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: ` + name + `}
spec:
  owner: {apiVersion: example.com/v1, kind: Thing}
  children:
    - {id: config, template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "` + child + `"}}}
`
}

// thingDefinition defines kind Thing, with a field size.
const thingDefinition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Cluster
  names: {kind: Thing, plural: things}
  versions:
    - name: v1
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
`

// TestLoad: which policies files hold, and what is wrong with them.
func TestLoad(t *testing.T) {
	cases := map[string]struct {
		reason      string
		files       map[string]string
		names, crds []string
		stdin       string
		programs    []string
		cleanupOnly []string
		findings    []string // File:Line of each
		wantError   string
	}{
		"Nothing": {reason: "Files have to be named.", wantError: "no policy was given: use -f FILE or -f FOLDER"},
		"Missing": {reason: "They have to be there.", names: []string{"a.yaml"}, wantError: "no such file or directory"},
		"NoPolicy": {
			reason: "And one of them has to have a policy.", names: []string{"a.yaml"}, files: map[string]string{"a.yaml": "---\n"},
			wantError: "no ReconcilePolicy in a.yaml",
		},
		"Twice": {
			reason: "A file that is named twice is a mistake of the caller.", names: []string{"a.yaml", "./a.yaml"}, files: map[string]string{"a.yaml": good("a")},
			wantError: `"a.yaml" is given twice`,
		},
		"Folder": {
			reason: "Of a folder it is the YAML files directly in it, by name, after what is named before.", names: []string{"-", "dir"}, stdin: good("z"),
			files:    map[string]string{"dir/b.yml": good("b"), "dir/a.yaml": good("a"), "dir/c.txt": "no", "dir/sub/d.yaml": good("d")},
			programs: []string{"z", "a", "b"},
		},
		"Broken": {
			reason: "A mistake is a finding, and what can clean up is kept.", names: []string{"a.yaml"},
			files:    map[string]string{"a.yaml": good("a") + "---\n" + broken("b")},
			programs: []string{"a"}, cleanupOnly: []string{"b"}, findings: []string{"a.yaml:15"},
		},
		"SameName": {
			reason: "Children are found by the name of their policy: of two the first one counts.", names: []string{"a.yaml", "b.yaml"},
			files:    map[string]string{"a.yaml": good("a"), "b.yaml": good("a")},
			programs: []string{"a"}, findings: []string{"b.yaml:1"},
		},
		"SameNameBroken": {
			reason: "A broken one of the name of another one cleans up nothing.", names: []string{"a.yaml", "b.yaml"},
			files:    map[string]string{"a.yaml": good("a"), "b.yaml": broken("a")},
			programs: []string{"a"}, findings: []string{"b.yaml:7"},
		},
		"Untyped": {
			reason: "Without a definition nothing is known of fields.", names: []string{"a.yaml"}, files: map[string]string{"a.yaml": typed("a")},
			programs: []string{"a"},
		},
		"Typed": {
			reason: "With one they are checked.", names: []string{"a.yaml"}, crds: []string{"crd.yaml"},
			files:       map[string]string{"a.yaml": typed("a"), "crd.yaml": thingDefinition},
			cleanupOnly: []string{"a"}, findings: []string{"a.yaml:7"},
		},
		"NoDefinition": {
			reason: "Definitions that are named have to be there.", names: []string{"a.yaml"}, crds: []string{"a.yaml"}, files: map[string]string{"a.yaml": good("a")},
			wantError: "--crds: no CustomResourceDefinition in a.yaml",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			write(t, tc.files)
			got, err := LoadPolicies(tc.names, tc.crds, "ambit-system", nil, strings.NewReader(tc.stdin))
			if tc.wantError != "" {
				if err == nil || !strings.Contains(err.Error(), tc.wantError) {
					t.Errorf("%s\nLoad: error %v, want %q", tc.reason, err, tc.wantError)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			var findings []string
			for _, f := range got.Findings {
				place, _, _ := strings.Cut(strings.TrimPrefix(f.Error(), f.File+":"), ":")
				findings = append(findings, f.File+":"+place)
			}
			if diff := cmp.Diff([][]string{tc.programs, tc.cleanupOnly, tc.findings}, [][]string{namesOf(got.Programs), namesOf(got.CleanupOnly), findings}); diff != "" {
				t.Errorf("%s\n-want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestProgramsOf: what a file was compiled to is known by its very text, if all of it is right.
func TestProgramsOf(t *testing.T) {
	two := good("one") + "---\n" + good("two")
	half := good("four") + "---\n" + broken("five")
	cut := good("six") + "---\n{"
	var sources []Source
	for name, text := range map[string]string{"two.yaml": two, "half.yaml": half, "cut.yaml": cut} {
		documents, err := syntax.Parse(name, []byte(text))
		sources = append(sources, Source{file: file{name: name, data: []byte(text)}, documents: documents, own: "own", err: err})
	}
	compiled := CompilePolicies(sources, policy.Options{})
	for name, tc := range map[string]struct {
		reason, file, text string
		want               []string
	}{
		"Two":     {reason: "in the order of the file", file: "two.yaml", text: two, want: []string{"own/one", "own/two"}},
		"Changed": {reason: "somebody has written the file since", file: "two.yaml", text: two + " "},
		"Other":   {reason: "messages would name another file", file: "2.yaml", text: two},
		"Half":    {reason: "one has a mistake", file: "half.yaml", text: half},
		"Cut":     {reason: "there may have been more", file: "cut.yaml", text: cut},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, program := range compiled.ProgramsOf(tc.file, []byte(tc.text)) {
				got = append(got, program.Namespace+"/"+program.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestKinds: which kinds have namespaces, and of which that is sure.
func TestKinds(t *testing.T) {
	t.Chdir(t.TempDir())
	write(t, map[string]string{"crd.yaml": thingDefinition + "---\n{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}"})
	kinds, err := ReadKinds([]string{"crd.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		reason           string
		kind             schema.GroupVersionKind
		namespaced, sure bool
	}{
		"Defined":   {"A definition says it.", schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Thing"}, false, false},
		"Known":     {"Of Kubernetes' own kinds it is known.", schema.GroupVersionKind{Version: "v1", Kind: "Pod"}, true, true},
		"Cluster":   {"So it is of those without.", schema.GroupVersionKind{Version: "v1", Kind: "Node"}, false, false},
		"Undefined": {"Others are taken to have them, and that is a guess.", schema.GroupVersionKind{Group: "example.com", Version: "v1", Kind: "Other"}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			if namespaced, sure := kinds.IsNamespaced(tc.kind), kinds.IsSurelyNamespaced(tc.kind); namespaced != tc.namespaced || sure != tc.sure {
				t.Errorf("%s namespaced: %t, surely: %t, want %t, %t", tc.reason, namespaced, sure, tc.namespaced, tc.sure)
			}
		})
	}
}

// TestReadObject: a file for one object holds one.
func TestReadObject(t *testing.T) {
	t.Chdir(t.TempDir())
	const pod = "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n"
	write(t, map[string]string{"none.yaml": "# nothing", "two.yaml": pod + "---\n" + pod, "deep.yaml": strings.Repeat("[", syntax.MaxDepth+1)})
	for name, tc := range map[string]struct{ reason, path, wantError string }{
		"One":  {"It is returned.", "-", ""},
		"None": {"An empty file has none.", "none.yaml", "none.yaml holds 0 objects, must be one: the owner"},
		"Two":  {"It is not known which one is meant.", "two.yaml", "two.yaml holds 2 objects, must be one: the owner"},
		"Deep": {"What is nested too deeply is not decoded.", "deep.yaml", "deep.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			object, err := ReadObject(tc.path, "the owner", strings.NewReader(pod))
			switch {
			case tc.wantError == "" && (err != nil || object.GetName() != "a"):
				t.Errorf("%s ReadObject = %v, %v", tc.reason, object, err)
			case tc.wantError != "" && (err == nil || !strings.Contains(err.Error(), tc.wantError)):
				t.Errorf("%s error %v, want %q", tc.reason, err, tc.wantError)
			}
		})
	}
}

// TestReadBounds: what is longer than a file may be is refused with its name, of stdin too; objects may be longer than policies.
func TestReadBounds(t *testing.T) {
	raced.Skip(t)
	t.Chdir(t.TempDir())
	long := good("a") + strings.Repeat("#", syntax.MaxText)
	write(t, map[string]string{"long.yaml": long, "pod.yaml": "{apiVersion: v1, kind: Pod, metadata: {name: a}}\n" + strings.Repeat("#", syntax.MaxText)})
	for name, want := range map[string]string{"long.yaml": "reading long.yaml: it has more than 4194304 bytes", "-": "reading stdin: it has more than 4194304 bytes"} {
		if _, err := LoadPolicies([]string{name}, nil, "ambit-system", nil, strings.NewReader(long)); err == nil || err.Error() != want {
			t.Errorf("Load of %s: error %v, want %q", name, err, want)
		}
	}
	if object, err := ReadObject("pod.yaml", "the owner", nil); err != nil || object.GetName() != "a" {
		t.Errorf("ReadObject = %v, %v", object, err)
	}
	if err := os.Truncate("pod.yaml", maxObjects+1); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadObjects([]string{"pod.yaml"}, nil); err == nil || err.Error() != "reading pod.yaml: it has more than 134217728 bytes" {
		t.Errorf("ReadObjects: error %v", err)
	}
}

func namesOf(programs []*policy.Program) (names []string) {
	for _, program := range programs {
		names = append(names, program.Name)
	}
	return names
}

// write writes files into the present folder.
func write(t *testing.T, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDecodeObjects(t *testing.T) {
	cases := map[string]struct {
		reason, data string
		want         []string
		fails        bool
	}{
		"Documents": {"Empty documents and comments are skipped.", "---\n# nothing\n---\n{apiVersion: v1, kind: Pod, metadata: {name: a}}\n---\n", []string{"a"}, false},
		"List":      {"A list is taken apart, as kubectl prints one.", "{apiVersion: v1, kind: List, items: [{apiVersion: v1, kind: Pod, metadata: {name: a}}, {apiVersion: v1, kind: Pod, metadata: {name: b}}]}", []string{"a", "b"}, false},
		"JSON":      {"JSON is YAML.", `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}}`, []string{"a"}, false},
		"Kindless":  {"What has no kind is no object.", "size: 2", nil, true},
		"Broken":    {"What is no YAML is refused.", "{", nil, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			objects, err := decodeObjects([]byte(tc.data))
			var got []string
			for _, object := range objects {
				got = append(got, object.GetName())
			}
			if diff := cmp.Diff(tc.want, got); diff != "" || (err != nil) != tc.fails {
				t.Errorf("%s decodeObjects: error %v, want one: %t; -want +got\n%s", tc.reason, err, tc.fails, diff)
			}
		})
	}
}
