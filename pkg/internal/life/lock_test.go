package life

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/test/timed"
)

// TestOneLeads: of many that begin at once one leads, with and without the right to watch.
func TestOneLeads(t *testing.T) {
	for name, w := range map[string]*world{"watching": newWorld(t, append(leastRights(), watching())...), "polling": newWorld(t, leastRights()...)} {
		t.Run(name, func(t *testing.T) {
			w.T = t
			var all []*trying
			for i := range 5 {
				all = append(all, w.try(w.pod(fmt.Sprintf("p%d", i)).Name))
			}
			for len(all) > 1 {
				all = w.succession(all)
			}
		})
	}
}

// succession waits for the one leader, deletes its Pod, and returns the others.
func (w *world) succession(all []*trying) (rest []*trying) {
	w.Helper()
	var leader string
	w.eventually("one leads", func(context.Context) error {
		if leader = w.holder(); leader == "" {
			return errors.New("there is no ConfigMap")
		}
		return nil
	})
	for _, t := range all {
		if t.pod == leader {
			t.leads()
			continue
		}
		rest = append(rest, t)
	}
	if len(rest) != len(all)-1 {
		w.Fatalf("the leader is %q, which is not among those that wait", leader)
	}
	for _, t := range rest {
		t.waits()
	}
	w.deletePod(leader)
	w.eventually("the garbage collector releases it", func(context.Context) error {
		if w.holder() == leader {
			return errors.New("the ConfigMap is still there")
		}
		return nil
	})
	return rest
}

// TestContainerStartsAgain: another process of the same Pod leads at once; a Pod of the
// same name that is another one does not take what belongs to its predecessor.
func TestContainerStartsAgain(t *testing.T) {
	w := newWorld(t, append(leastRights(), watching())...)
	w.pod("a")
	w.try("a").leads()
	began := time.Now()
	w.try("a").leads()
	timed.Check(t, "the second process leads", time.Since(began), 2*time.Second)
	first, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), lockName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w.deletePod("a")
	w.pod("a")
	w.try("a").leads()
	second, err := w.admin.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), lockName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if first.UID == second.UID {
		t.Error("the new Pod leads by the ConfigMap of the old one")
	}
}

// TestEndedPod: a Pod that has ended and is kept, such as an evicted one, holds nobody up;
// one that runs does.
func TestEndedPod(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		t.Run(string(phase), func(t *testing.T) {
			w := newWorld(t, append(leastRights(), watching())...)
			first := w.pod("a")
			w.pod("b")
			w.try("a").leads()
			next := w.try("b")
			next.waits()
			w.ends(first, phase)
			next.leads()
			if got := w.holder(); got != "b" {
				t.Errorf("the ConfigMap belongs to %q", got)
			}
		})
	}
}

// TestHold: a leader whose ConfigMap is gone, or another's, says so at once; one whose
// context ends says nothing.
func TestHold(t *testing.T) {
	for name, rights := range map[string]bool{"watching": true, "polling": false} {
		t.Run(name, func(t *testing.T) {
			rules := leastRights()
			if rights {
				rules = append(rules, watching())
			}
			w := newWorld(t, rules...)
			w.pod("a")
			leader := w.try("a")
			leader.leads()
			ctx, cancel := context.WithCancel(t.Context())
			held := make(chan error, 1)
			go func() { held <- leader.lock.HoldLeadership(ctx) }()
			cancel()
			if err := <-held; err != nil {
				t.Fatalf("at a stop: %v", err)
			}
			go func() { held <- leader.lock.HoldLeadership(t.Context()) }()
			if err := w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), lockName, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			select {
			case err := <-held:
				if !errors.Is(err, ErrLost) {
					t.Error(err)
				}
				timed.Check(t, "it says that its ConfigMap is gone", time.Since(began), time.Second)
			case <-time.After(patience):
				t.Error("nothing is said")
			}
		})
	}
}

// TestGivenAway: a leader whose ConfigMap somebody has given to another Pod, which takes
// itself for the leader then, is none any more.
func TestGivenAway(t *testing.T) {
	w := newWorld(t, append(leastRights(), watching())...)
	w.pod("a")
	other := w.pod("b")
	leader := w.try("a")
	leader.leads()
	held := make(chan error, 1)
	go func() { held <- leader.lock.HoldLeadership(t.Context()) }()
	patch := fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"b","uid":%q}]}}`, other.UID)
	if _, err := w.admin.CoreV1().ConfigMaps(w.namespace).Patch(t.Context(), lockName, types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.try("b").leads()
	select {
	case err := <-held:
		if !errors.Is(err, ErrLost) {
			t.Errorf("it says %v", err)
		}
	case <-time.After(patience):
		t.Error("both lead")
	}
}

// TestNamesake: a process of a Pod that is gone does not lead in the place of another one
// that has its name, and does not wait for it either.
func TestNamesake(t *testing.T) {
	w := newWorld(t, leastRights()...)
	old := w.pod("a")
	w.deletePod("a")
	next := w.pod("a")
	w.options.UID = old.UID
	if err := w.try("a").gives(); !errors.Is(err, errReplaced) || !strings.Contains(err.Error(), string(old.UID)) || !strings.Contains(err.Error(), string(next.UID)) {
		t.Errorf("gives %v", err)
	}
	if got := w.holder(); got != "" {
		t.Errorf("the ConfigMap belongs to %q", got)
	}
	w.options.UID = next.UID
	w.try("a").leads()
}

// TestNever: what no waiting mends ends at once, and says what is missing.
func TestNever(t *testing.T) {
	for name, test := range map[string]struct {
		rules  int // how many of leastRights
		pod    bool
		is     func(error) bool
		saying string
	}{
		"no Pod":           {rules: 2, is: apierrors.IsNotFound, saying: "reading the Pod that this process runs in"},
		"no rights at all": {is: apierrors.IsForbidden, saying: `cannot get resource "pods"`},
		"no ConfigMaps":    {rules: 1, pod: true, is: apierrors.IsForbidden, saying: `cannot get resource "configmaps"`},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, leastRights()[:test.rules]...)
			if test.pod {
				w.pod("a")
			}
			if err := w.try("a").gives(); !test.is(err) || !strings.Contains(err.Error(), test.saying) {
				t.Errorf("gives %v", err)
			}
		})
	}
}

// TestNobodysConfigMap: a ConfigMap that somebody made by hand is not taken, and a
// candidate that is stopped says why it did not lead.
func TestNobodysConfigMap(t *testing.T) {
	w := newWorld(t, append(leastRights(), watching())...)
	w.pod("a")
	mine := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: lockName}}
	if _, err := w.admin.CoreV1().ConfigMaps(w.namespace).Create(t.Context(), mine, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	candidate := w.try("a")
	candidate.waits()
	candidate.stop()
	if err := candidate.gives(); !errors.Is(err, context.Canceled) {
		t.Errorf("gives %v", err)
	}
	if got := w.holder(); got != "" {
		t.Errorf("the ConfigMap belongs to %q", got)
	}
}
