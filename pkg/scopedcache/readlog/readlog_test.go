package readlog

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func readerFor(name string) *Reader {
	return &Reader{Owner: Owner{NamespacedName: types.NamespacedName{Namespace: "one", Name: name}}}
}

func configMap(namespace, name, app string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"app": app}}}
}

// someReads is a log with a read of each sort.
func someReads() (*Log, map[string]*Reader) {
	readers := map[string]*Reader{}
	for _, name := range []string{"named", "all", "space", "labels"} {
		readers[name] = readerFor(name)
	}
	log := &Log{}
	log.AddName(readers["named"], types.NamespacedName{Namespace: "one", Name: "a"})
	log.AddList(readers["all"], client.ListOptions{})
	log.AddList(readers["space"], client.ListOptions{Namespace: "one"})
	log.AddList(readers["labels"], client.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"app": "web"})})
	return log, readers
}

// TestOwnersOf: who is told of a change of an object.
func TestOwnersOf(t *testing.T) {
	cases := map[string]struct {
		reason      string
		object, was any
		want        []string
	}{
		"Named":     {reason: "by its name, and by the lists that have it", object: configMap("one", "a", "db"), want: []string{"all", "named", "space"}},
		"Another":   {reason: "of another name", object: configMap("one", "b", "db"), want: []string{"all", "space"}},
		"Elsewhere": {reason: "the same name in another namespace", object: configMap("two", "a", "db"), want: []string{"all"}},
		"Labelled":  {reason: "a selector has it now", object: configMap("two", "b", "web"), was: configMap("two", "b", "db"), want: []string{"all", "labels"}},
		"Unlabeled": {reason: "a selector had it before", object: configMap("two", "b", "db"), was: configMap("two", "b", "web"), want: []string{"all", "labels"}},
		"Deleted":   {reason: "only what it was is known", was: configMap("two", "b", "web"), want: []string{"all", "labels"}},
		"Missed":    {reason: "its deletion was missed", was: toolscache.DeletedFinalStateUnknown{Key: "one/a", Obj: configMap("one", "a", "db")}, want: []string{"all", "named", "space"}},
		"Unknown":   {reason: "no object at all", object: "text"},
		"Nothing":   {reason: "neither before nor now"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			log, _ := someReads()
			owners, _ := log.OwnersOf(tc.object, tc.was)
			var got []string
			for _, owner := range owners {
				got = append(got, owner.Name)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestOwnersOfName: the name is that of the object, also of one that is gone.
func TestOwnersOfName(t *testing.T) {
	want := types.NamespacedName{Namespace: "one", Name: "a"}
	for name, object := range map[string]any{"There": configMap("one", "a", ""), "Missed": toolscache.DeletedFinalStateUnknown{Obj: configMap("one", "a", "")}} {
		if _, got := (&Log{}).OwnersOf(object, nil); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestOneOwner: an owner of two readers, who has read an object twice, is told once.
func TestOneOwner(t *testing.T) {
	log := &Log{}
	for _, reader := range []*Reader{readerFor("web"), readerFor("web")} {
		log.AddName(reader, types.NamespacedName{Namespace: "one", Name: "a"})
		log.AddList(reader, client.ListOptions{})
		log.AddList(reader, client.ListOptions{})
	}
	owners, _ := log.OwnersOf(configMap("one", "a", ""), nil)
	if diff := cmp.Diff([]Owner{readerFor("web").Owner}, owners); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestForgetReader: a log is empty when all have been forgotten, whatever they had read; and no sooner.
func TestForgetReader(t *testing.T) {
	log, readers := someReads()
	for _, reader := range readers {
		if log.IsEmpty() {
			t.Error("it is empty while there is a reader")
		}
		log.ForgetReader(reader)
	}
	if !log.IsEmpty() {
		t.Errorf("all are forgotten, and it has %v and %v", log.byName, log.lists)
	}
	if owners, _ := log.OwnersOf(configMap("one", "a", "web"), nil); len(owners) > 0 {
		t.Errorf("%v are told, and all are forgotten", owners)
	}
}

// TestCompareOwners: kinds come before names, and no two owners are equal.
func TestCompareOwners(t *testing.T) {
	inOrder := []Owner{
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "a"}},
		{NamespacedName: types.NamespacedName{Namespace: "a", Name: "b"}},
		{NamespacedName: types.NamespacedName{Namespace: "b", Name: "a"}},
		{Kind: schema.GroupKind{Kind: "Web"}, NamespacedName: types.NamespacedName{Namespace: "a", Name: "a"}},
	}
	for i := range inOrder {
		for j := range inOrder {
			got := CompareOwners(inOrder[i], inOrder[j])
			if (got < 0) != (i < j) || (got == 0) != (i == j) {
				t.Errorf("%v against %v: %d", inOrder[i], inOrder[j], got)
			}
		}
	}
	if (&Reader{}).IsOwner() || !readerFor("web").IsOwner() {
		t.Error("the zero Owner alone is nobody")
	}
}
