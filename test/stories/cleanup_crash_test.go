package stories

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
)

// crashes are requests at which Ambit dies.
type crashes struct {
	once sync.Once
	dead chan struct{}
}

var errCrashed = errors.New("the process is dead")

// at returns hooks that let nothing come through from the request on that counts: not
// even that one, or, if sent, not the answer to it.
func (c *crashes) at(sent bool, counts func(r *http.Request, body string) bool) (before, after hook) {
	die := func(r *http.Request, body []byte) error {
		if counts(r, string(body)) {
			c.once.Do(func() { close(c.dead) })
		}
		return c.isDead(r, body)
	}
	if sent {
		return c.isDead, die
	}
	return die, nil
}

func (c *crashes) isDead(*http.Request, []byte) error {
	select {
	case <-c.dead:
		return errCrashed
	default:
		return nil
	}
}

// crashed lets Ambit die at a request, at the latest when do has been done.
func (p *pruning) crashed(sent bool, counts func(r *http.Request, body string) bool, do func()) {
	p.t.Helper()
	c := &crashes{dead: make(chan struct{})}
	p.sent.hook(c.at(sent, counts))
	do()
	p.eventually("Ambit dies", func(context.Context) error {
		select {
		case <-c.dead:
			return nil
		default:
			return errors.New("it lives")
		}
	})
	p.stop()
}

// crashCase is a request at which Ambit dies.
type crashCase struct {
	reason string
	sent   bool // it came through, and only its answer did not
	counts func(p *pruning, r *http.Request, body string) bool
}

func isCrashRequest(r *http.Request, method, part string) bool {
	return r.Method == method && strings.Contains(r.URL.Path, part)
}

func crashMakesFar(p *pruning, r *http.Request, body string) bool {
	return isCrashRequest(r, http.MethodPost, "/namespaces/"+p.away+"/configmaps") && strings.Contains(body, `"far-b"`)
}

func crashMerges(p *pruning, r *http.Request, _ string) bool {
	return isCrashRequest(r, http.MethodPatch, "/api/v1/namespaces/"+p.away)
}

func crashMarksOwner(_ *pruning, r *http.Request, _ string) bool {
	return isCrashRequest(r, http.MethodPatch, "/memcacheds/") && !strings.HasSuffix(r.URL.Path, "/status")
}

// TestCleanupCrashedWhileMaking: Ambit dies while it makes the objects of an owner, and
// item b is taken off the list before the next run. Nothing of b is left then but what
// is Orphan, and nothing is deleted that somebody else has made. It fails if an object
// is made before it is recorded, or is taken for ours by its name.
func TestCleanupCrashedWhileMaking(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]crashCase{
		"BeforeMark":        {"nothing is recorded", false, crashMarksOwner},
		"AfterMark":         {"the record is there, and nobody knows", true, crashMarksOwner},
		"BeforeCreate":      {"an object is recorded and was never made", false, crashMakesFar},
		"BetweenCreateUID":  {"an object was made, and its uid is not recorded", true, crashMakesFar},
		"BeforeMerge":       {"fields are recorded and not there", false, crashMerges},
		"BetweenMergeReply": {"fields are there, and nobody knows", true, crashMerges},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPruning(t, "")
			p.crashed(tc.sent, func(r *http.Request, body string) bool { return tc.counts(p, r, body) }, func() { p.run() })
			before, err := p.uids(t.Context(), "b")
			if err != nil {
				t.Fatal(err)
			}
			want := pruneOnly(before, "left")
			if before["far"] == "" {
				want["far"] = p.makeForeign()
			}
			p.items("a")
			p.run()
			p.all("a")
			p.isReady()
			p.comesTo("b", want)
			p.ends()
			p.has("b", "after the owner has gone, "+tc.reason, want)
		})
	}
}

// makeForeign makes what Ambit has recorded and not made, as somebody.
func (p *pruning) makeForeign() (uid string) {
	p.t.Helper()
	foreign := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "far-b", Labels: map[string]string{v1alpha1.LabelPolicy: v1alpha1.PolicyLabel(p.home, p.name)}}}
	made, err := p.typed.CoreV1().ConfigMaps(p.away).Create(p.t.Context(), foreign, metav1.CreateOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	return string(made.UID)
}

// TestCleanupCrashedWhileDeleting: Ambit dies while it cleans up after an owner. The next
// run ends it. It fails if the finalizer goes too early, or if what is gone already is
// waited for.
func TestCleanupCrashedWhileDeleting(t *testing.T) {
	t.Parallel()
	deletesRole := func(_ *pruning, r *http.Request, _ string) bool {
		return isCrashRequest(r, http.MethodDelete, "/clusterroles/")
	}
	for name, tc := range map[string]crashCase{
		"BeforeDelete":    {"nothing is deleted", false, deletesRole},
		"AfterDelete":     {"something is deleted, and nobody knows", true, deletesRole},
		"BeforeFinalizer": {"all is gone but the finalizer", false, crashMarksOwner},
		"AfterFinalizer":  {"the owner is gone, and nobody knows", true, crashMarksOwner},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPruning(t, "")
			p.run()
			a, b := p.all("a"), p.all("b")
			p.isReady()
			p.settled()
			p.crashed(tc.sent, func(r *http.Request, body string) bool { return tc.counts(p, r, body) }, func() { p.deleteOwner(p.home, "one") })
			p.run()
			p.isGone()
			p.leaves(a, b)
			p.stop()
		})
	}
}
