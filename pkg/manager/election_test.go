package manager

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ambit-dev/ambit/pkg/internal/life"
	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/freeport"
	"github.com/ambit-dev/ambit/test/timed"
)

// replica is one of several.
type replica struct {
	*running
	probes string // URL
}

func (w *world) replica(e Election) *replica {
	w.Helper()
	address := freeport.ForTest(w.T)
	o := Options{Programs: []*policy.Program{memcached(w.T)}, Namespaces: []string{w.namespace}, Election: e, ProbeAddress: address}
	return &replica{running: w.run(o), probes: "http://" + address}
}

// leads waits until the replica works, and says how long that took.
func (r *replica) leads() time.Duration {
	r.Helper()
	began := time.Now()
	r.is("ready: policies: 1")
	return time.Since(began)
}

// is waits until the replica is ready and says so.
func (r *replica) is(text string) {
	r.Helper()
	for range 2 { // of which the second is the one that counts
		got := r.says(r.probes+"/readyz", "", http.StatusOK)
		if strings.HasPrefix(got.text, text) {
			return
		}
		r.eventually("it is "+text, func(ctx context.Context) error {
			got, err := get(ctx, r.probes+"/readyz", "")
			if err == nil && !strings.HasPrefix(got.text, text) {
				err = errors.New("it is " + got.text)
			}
			return err
		})
	}
}

// TestLease: of two replicas one works; both are ready and alive. When it stops the other
// one takes over at once. One that has lost its lease ends with an error.
func TestLease(t *testing.T) {
	w := newWorld(t)
	w.grant("rights", append(memcachedRights(), electionRights()...)...)
	lease := Election{Mode: ElectionLease, Namespace: w.namespace}
	first := w.replica(lease)
	first.leads()
	second := w.replica(lease)
	second.is("ready: waiting for leadership")
	second.says(second.probes+"/healthz", "", http.StatusOK)
	first.stop()
	if first.err != nil {
		t.Errorf("a clean stop: %v", first.err)
	}
	timed.Check(t, "the other one takes over", second.leads(), 3*time.Second)
	stolen := []byte(`{"spec":{"holderIdentity":"a thief","leaseDurationSeconds":60,"renewTime":"` + time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00") + `"}}`)
	_, err := w.admin.CoordinationV1().Leases(w.namespace).Patch(t.Context(), leaseName, types.MergePatchType, stolen, metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := second.ends(); !errors.Is(err, errLeaseLost) {
		t.Errorf("without its lease it ends with %v", err)
	}
	timed.Check(t, "it ends when its lease was taken, and does not try to get it back", time.Since(began), leaseDeadline/2)
}

// TestLife: of two Pods one works, until its ConfigMap is gone: then it ends, with an
// error, and the other one works.
func TestLife(t *testing.T) {
	w := newWorld(t)
	w.grant("rights", append(memcachedRights(), electionRights()...)...)
	first := w.replica(w.pod("first"))
	first.leads()
	second := w.replica(w.pod("second"))
	second.is("ready: waiting for leadership")
	if err := w.admin.CoreV1().ConfigMaps(w.namespace).Delete(t.Context(), lifeName, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := first.ends(); !errors.Is(err, life.ErrLost) {
		t.Errorf("without its ConfigMap it ends with %v", err)
	}
	second.leads()
	second.stop()
	if second.err != nil {
		t.Errorf("a clean stop: %v", second.err)
	}
}

// TestLifeNamesake: a process of a Pod whose name another one has got by now does not lead
// beside that one, and says why; one of the same Pod leads again.
func TestLifeNamesake(t *testing.T) {
	w := newWorld(t)
	w.grant("rights", append(memcachedRights(), electionRights()...)...)
	old := w.pod("ambit-0")
	now := int64(0)
	if err := w.admin.CoreV1().Pods(w.namespace).Delete(t.Context(), old.Pod, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil {
		t.Fatal(err)
	}
	next := w.podOf(old.Pod)
	if next.PodUID == old.PodUID {
		t.Fatal("it is the same Pod")
	}
	leader := w.replica(next)
	leader.leads()
	if err := w.replica(old).ends(); err == nil || !strings.Contains(err.Error(), `Pod "ambit-0" of this process, uid `+old.PodUID+", is gone") {
		t.Errorf("a process of the old Pod ends with %v", err)
	}
	leader.leads()
	leader.stop()
	w.replica(next).leads()
}

// pod makes a Pod that nobody runs.
func (w *world) pod(name string) Election {
	w.Helper()
	// Nobody makes the default account here.
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if _, err := w.admin.CoreV1().ServiceAccounts(w.namespace).Create(w.Context(), account, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	return w.podOf(name)
}

// podOf makes a Pod of an account that has the same name.
func (w *world) podOf(name string) Election {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{ServiceAccountName: name, Containers: []corev1.Container{{Name: "manager", Image: "none"}}},
	}
	made, err := w.admin.CoreV1().Pods(w.namespace).Create(w.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return Election{Mode: ElectionLife, Namespace: w.namespace, Pod: name, PodUID: string(made.UID)}
}

// TestElectionWithoutRights: for life it is final that a right is missing; the error says
// which.
func TestElectionWithoutRights(t *testing.T) {
	w := newWorld(t)
	if err := w.replica(w.pod("blind")).ends(); err == nil || !strings.Contains(err.Error(), `cannot get resource "pods"`) {
		t.Errorf("it ends with %v", err)
	}
}

// TestElectionOptions: mistakes are said before anything is done.
func TestElectionOptions(t *testing.T) {
	for name, test := range map[string]struct {
		election Election
		want     string
	}{
		"no such mode": {Election{Mode: "raft"}, `leader election "raft" is none of off, lease and life`},
		"nowhere":      {Election{Mode: ElectionLease}, "leader election by lease needs a namespace"},
		"no Pod":       {Election{Mode: ElectionLife, Namespace: "a"}, "leader election for life needs the name of the Pod"},
	} {
		t.Run(name, func(t *testing.T) {
			err := Run(t.Context(), Options{Config: &rest.Config{}, Election: test.election})
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("says %v, want %q", err, test.want)
			}
		})
	}
}
