package plan

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/policy"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the expected plans in testdata")

// TestPlans runs the stories in testdata. A file starts with a sentence that says
// what it is about. Then come the steps of the story, each a txtar file:
//
//   - policy: the spec of the policy from now on;
//   - owner: the owner from now on; apiVersion, kind, name, namespace, uid and
//     generation may be left out. One that has a record is edited, not replaced;
//   - editOwner: a merge patch of the owner by somebody else;
//   - converge: plan and apply until nothing is left to do;
//   - create: objects that somebody else makes;
//   - edit: merge patches by somebody else, with kind and name;
//   - observe: objects put into the world as they are;
//   - delete: the kind and name of an object that somebody else deletes;
//   - problems: refused writes from now on, by child id;
//   - blocked: inputs without data from now on, by child or watch id;
//   - standing: rights that are missing from now on;
//   - settle: the differences that are there are known to stay;
//   - missing: the kinds that are not served from now on;
//   - followed: the last policy took over from the one before while Ambit worked;
//   - deleteOwner: somebody deletes the owner;
//   - retire: the policy does not want the owner any more;
//   - stays: another policy whose record is on the owner does not clean up;
//   - break: the policy does not compile any more;
//   - record: the text of the owner's annotation of children;
//   - now: the time from now on;
//   - ensure: the plan is for the objects of the policy itself.
//
// After a line `----` stands the plan that follows.
func TestPlans(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runStory(t, file) })
	}
}

func runStory(t *testing.T, file string) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	story, want, _ := strings.Cut(string(data), "\n----\n")
	archive := txtar.Parse([]byte(story + "\n"))
	o := &operator{world: &world{}, writes: -1}
	o.setOwner(t, "{}")
	for _, step := range archive.Files {
		o.step(t, step.Name, string(step.Data))
	}
	got := o.plan(t).String()
	if *rewrite {
		if err := os.WriteFile(file, []byte(story+"\n----\n"+got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s\n-want +got:\n%s", archive.Comment, diff)
	}
	if len(o.world.crimes) > 0 {
		t.Errorf("crimes: %v", o.world.crimes)
	}
}

func (o *operator) step(t *testing.T, name, data string) {
	t.Helper()
	switch name {
	case "policy":
		o.before, o.program = o.program, compile(t, data)
	case "owner":
		if _, ok := o.owner.GetAnnotations()[v1alpha1.AnnotationChildren]; ok {
			t.Fatal("another owner has no record, so that its story shows nothing: use editOwner")
		}
		o.setOwner(t, data)
	case "editOwner":
		o.editOwner(t, data)
	case "converge":
		o.converge(t)
	case "create":
		for _, obj := range objectsOf(t, data) {
			o.world.create(obj, "somebody")
		}
	case "observe":
		o.world.objects = append(o.world.objects, objectsOf(t, data)...)
	case "edit":
		for _, patch := range objectsOf(t, data) {
			o.world.edit(o.world.pick(patch), patch.Object, "somebody")
		}
	case "delete":
		for _, obj := range objectsOf(t, data) {
			o.world.vanish(o.world.pick(obj))
		}
	case "problems":
		o.problems = map[string]Problem{}
		decode(t, data, &o.problems)
	case "blocked":
		o.blocked = map[string]Problem{}
		decode(t, data, &o.blocked)
	case "standing":
		o.standing = nil
		decode(t, data, &o.standing)
	case "settle":
		o.settled = map[types.UID]string{}
		for _, a := range o.plan(t).Actions {
			o.settled[a.UID] = a.Digest
		}
	case "missing":
		o.missing = strings.Fields(data)
	case "followed":
		o.former = FormerKinds(o.before, o.program)
	case "deleteOwner":
		o.deleteOwner()
	case "retire":
		o.retire = true
	case "stays":
		o.stays = true
	case "break":
		protect := o.program.Protect
		o.program = &policy.Program{Name: o.program.Name, Label: o.program.Label, Namespace: o.program.Namespace, Owner: o.program.Owner, CleanupOnly: errors.New("it is broken")}
		if protect != nil {
			o.program.Protect = &policy.Protect{}
		}
	case "record":
		o.owner.SetAnnotations(map[string]string{v1alpha1.AnnotationChildren: strings.TrimSpace(data)})
	case "now":
		now, err := time.Parse(time.RFC3339, strings.TrimSpace(data))
		if err != nil {
			t.Fatal(err)
		}
		o.now = now
	case "ensure":
		o.ensuring = true
	default:
		t.Fatalf("unknown step %q", name)
	}
}

func (o *operator) setOwner(t testing.TB, data string) {
	t.Helper()
	object := map[string]any{}
	decode(t, data, &object)
	setDefault(object, "apiVersion", "example.com/v1")
	setDefault(object, "kind", "Cache")
	meta := submap(object, "metadata")
	setDefault(meta, "name", "sample")
	setDefault(meta, "namespace", "default")
	setDefault(meta, "uid", "owner-uid")
	setDefault(meta, "generation", int64(1))
	o.owner = &unstructured.Unstructured{Object: object}
	o.world.owner = o.owner.GetUID()
}

func (o *operator) editOwner(t *testing.T, patch string) {
	t.Helper()
	changes := map[string]any{}
	decode(t, patch, &changes)
	o.owner = o.owner.DeepCopy()
	mergePatch(o.owner.Object, changes)
	if _, ok := changes["spec"]; ok {
		o.owner.SetGeneration(o.owner.GetGeneration() + 1)
	}
}

func objectsOf(t *testing.T, data string) []*unstructured.Unstructured {
	t.Helper()
	var list []*unstructured.Unstructured
	for _, document := range strings.Split(data, "\n---\n") {
		obj := &unstructured.Unstructured{}
		decode(t, document, &obj.Object)
		if obj.Object != nil {
			list = append(list, obj)
		}
	}
	return list
}

// decode reads YAML with whole numbers as int64, as the API machinery does.
func decode(t testing.TB, data string, into any) {
	t.Helper()
	encoded, err := yaml.YAMLToJSON([]byte(data))
	if err != nil {
		t.Fatalf("reading %q: %v", data, err)
	}
	if object, ok := into.(*map[string]any); ok {
		u := unstructured.Unstructured{}
		wrapped := fmt.Sprintf(`{"apiVersion":"v1","kind":"X","in":%s}`, encoded)
		if err := u.UnmarshalJSON([]byte(wrapped)); err != nil {
			t.Fatalf("reading %q: %v", data, err)
		}
		*object, _ = u.Object["in"].(map[string]any)
		return
	}
	if err := yaml.Unmarshal([]byte(data), into); err != nil {
		t.Fatalf("reading %q: %v", data, err)
	}
}
