package stories

import (
	"context"
	"fmt"
	"net/http"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// unlabelling are merge patches of somebody who takes labels off a child.
const (
	withoutOwner  = `{"metadata":{"labels":{"` + v1alpha1.LabelOwnerUID + `":null}}}`
	withoutPolicy = `{"metadata":{"labels":{"` + v1alpha1.LabelPolicy + `":null}}}`
	withoutAny    = `{"metadata":{"labels":null}}`
)

// TestUnlabelled: a child that only the owner's record leads to loses its labels, so that
// no stream shows it, before nobody wants it any more. It is deleted all the same, and
// then it goes from the record. It fails if what a stream does not show is taken for gone.
func TestUnlabelled(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		patch    string
		lost     bool // the child was made, and the answer never came
		held     bool // somebody's finalizer is on the child
		deleting bool // the owner goes, and not only the element
	}{
		"OwnerLabel":        {reason: "streams are read by this label", patch: withoutOwner},
		"PolicyLabel":       {reason: "streams are selected by this label", patch: withoutPolicy},
		"OwnerGoes":         {reason: "the finalizer stays until the child is gone", patch: withoutAny, deleting: true},
		"ReplyLost":         {reason: "the record has no uid: the claim proves it", patch: withoutAny, lost: true},
		"ReplyLostAndGoes":  {reason: "as before, when the owner goes", patch: withoutAny, lost: true, deleting: true},
		"Lingers":           {reason: "no event says that the child is gone at last", patch: withoutAny, held: true},
		"LingersAndItsGoes": {reason: "as before, when the owner goes", patch: withoutAny, held: true, deleting: true},
	}
	w := newWorld(t, "unlabelled")
	home, there := w.namespace(homeRights()...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := w.in(t)
			w.makeCopy(home, there, tc.lost)
			w.patchCopy(there, tc.patch)
			if tc.held {
				w.patchCopy(there, `{"metadata":{"finalizers":["example.com/held"]}}`)
			}
			if tc.deleting {
				w.deleteOwner(home, "x")
			} else {
				w.patchOwner(home, "x", `{"metadata":{"annotations":{"copies":""}}}`)
			}
			stop := w.run([]string{home}, copies(t, ""))
			defer stop()
			if tc.held {
				w.lingers(home, there)
			}
			w.noCopy(there, "x")
			if !tc.deleting {
				w.ownerUnmarked(home, "x")
				w.deleteOwner(home, "x")
			}
			w.ownerGone(home, "x")
		})
	}
}

// makeCopy makes the owner x and its copy, and stops.
func (w *world) makeCopy(home, there string, lost bool) {
	w.t.Helper()
	if !lost {
		stop := w.run([]string{home}, copies(w.t, ""))
		w.copiesTo(home, "x", there)
		w.condition(home, "x", v1alpha1.ConditionReady, "True", "")
		w.recorded(home, "x", there)
		stop()
		return
	}
	c := &cut{matches: isRequest(http.MethodPost, copiesPath("x")), answered: true}
	l := w.launch(c.config(w.control.User(w.user)), []string{home}, copies(w.t, ""))
	w.copiesTo(home, "x", there)
	select {
	case <-c.ch:
	case <-w.t.Context().Done():
		w.t.Fatal("no copy was made")
	}
	l.stop()
}

func (w *world) patchCopy(there, patch string) {
	w.t.Helper()
	if _, err := w.typed.CoreV1().ConfigMaps(there).Patch(w.t.Context(), "x", types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		w.t.Fatalf("changing the copy: %v", err)
	}
}

// lingers waits until the copy is on its way out, with the owner's record still there,
// and lets it go.
func (w *world) lingers(home, there string) {
	w.t.Helper()
	w.eventually("the copy is on its way out", func(ctx context.Context) error {
		found, err := w.typed.CoreV1().ConfigMaps(there).Get(ctx, "x", metav1.GetOptions{})
		if err == nil && found.DeletionTimestamp == nil {
			err = fmt.Errorf("it is not being deleted")
		}
		return err
	})
	w.recorded(home, "x", there)
	w.patchCopy(there, `{"metadata":{"finalizers":null}}`)
}

// TestUnlabelledAndCopied: somebody copies an owner with its record, and takes the labels
// off the child of the first. Nothing of it is deleted for the copy of the owner.
func TestUnlabelledAndCopied(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "unlabelled")
	home, there := w.namespace(homeRights()...), w.namespace(rightsTo("", "configmaps"))
	w.decided(there, true, rightsTo("", "configmaps"))
	w.makeCopy(home, there, false)
	before, err := w.typed.CoreV1().ConfigMaps(there).Get(t.Context(), "x", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := w.owner(t.Context(), home, "x")
	if err != nil {
		t.Fatal(err)
	}
	w.patchCopy(there, withoutAny)
	w.copiesTo(home, "y")
	w.patchOwner(home, "y", fmt.Sprintf(`{"metadata":{"finalizers":[%q],"annotations":{%q:%q}}}`,
		v1alpha1.FinalizerCleanup, v1alpha1.AnnotationChildren, first.GetAnnotations()[v1alpha1.AnnotationChildren]))
	w.run([]string{home}, copies(t, ""))
	w.ownerUnmarked(home, "y")
	w.eventually("the child has its labels again, and is the same", func(ctx context.Context) error {
		after, err := w.typed.CoreV1().ConfigMaps(there).Get(ctx, "x", metav1.GetOptions{})
		if err == nil && (after.UID != before.UID || after.Labels[v1alpha1.LabelOwnerUID] != string(first.GetUID())) {
			err = fmt.Errorf("uid %s, was %s; labels %v", after.UID, before.UID, after.Labels)
		}
		return err
	})
	w.deleteOwner(home, "x")
	w.ownerGone(home, "x")
	w.noCopy(there, "x")
}
