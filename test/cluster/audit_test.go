package cluster

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestAudit: requests are seen once, with who, what, where and the outcome, and
// a watch is open until it is stopped.
func TestAudit(t *testing.T) {
	t.Parallel()
	namespace, bob := shared.Namespace(t.Context(), t, "audit"), typed(t, shared.User("bob"))
	before := shared.Audit().Mark()
	if _, err := bob.CoreV1().Secrets(namespace).Get(t.Context(), "s", metav1.GetOptions{}); err == nil {
		t.Fatal("bob may read Secrets")
	}
	var got []Request
	eventually(t, "the request is in the log", func(context.Context) (err error) {
		if got, err = shared.Audit().Since(before, "bob"); err == nil && len(got) == 0 {
			err = fmt.Errorf("nothing")
		}
		return err
	})
	want := []Request{{Verb: "get", User: "bob", Resource: "secrets", Namespace: namespace, Name: "s", Code: 403,
		Message: fmt.Sprintf(`secrets "s" is forbidden: User "bob" cannot get resource "secrets" in API group "" in the namespace %q`, namespace),
		Stage:   "ResponseComplete", URI: "/api/v1/namespaces/" + namespace + "/secrets/s"}}
	for i := range got {
		got[i].UserAgent, got[i].id, got[i].Time, got[i].Logged = "", "", time.Time{}, time.Time{}
	}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(Request{})); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	after, err := shared.Audit().Since(shared.Audit().Mark(), "bob")
	if err != nil || len(after) != 0 {
		t.Errorf("after a new mark: %v, %v; want nothing", after, err)
	}
}

func TestOpenWatches(t *testing.T) {
	t.Parallel()
	namespace, carol := shared.Namespace(t.Context(), t, "watch"), typed(t, shared.User("carol"))
	allow(t, namespace, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: "carol"})
	open := func(n int) {
		t.Helper()
		eventually(t, fmt.Sprintf("%d watches are open", n), func(context.Context) error {
			watches, err := shared.Audit().OpenWatches("carol")
			if err == nil && len(watches) != n {
				err = fmt.Errorf("%d are", len(watches))
			}
			return err
		})
	}
	eventually(t, "carol may watch", func(ctx context.Context) error {
		w, err := carol.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{})
		if err == nil {
			t.Cleanup(w.Stop)
			open(1)
			w.Stop()
		}
		return err
	})
	open(0)
}

// TestSince reads a log that was written by hand.
func TestSince(t *testing.T) {
	t.Parallel()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	line := func(id, stage, verb, user string, received, staged int) string {
		return fmt.Sprintf(`{"auditID":%q,"stage":%q,"verb":%q,"user":{"username":"asker"},"impersonatedUser":{"username":%q},`+
			`"responseStatus":{"code":200},"requestReceivedTimestamp":%q,"stageTimestamp":%q}`+"\n", id, stage, verb, user,
			at.Add(time.Duration(received)*time.Second).Format(time.RFC3339Nano), at.Add(time.Duration(staged)*time.Second).Format(time.RFC3339Nano))
	}
	log := line("a", "ResponseStarted", "watch", "u", 0, 1) + // opened before the mark
		line("b", "ResponseComplete", "create", "u", 4, 6) + // received before the mark
		line("c", "ResponseComplete", "get", "other", 7, 7) +
		line("d", "ResponseComplete", "get", "u", 7, 7) +
		line("a", "ResponseComplete", "watch", "u", 0, 8) +
		line("e", "ResponseStarted", "watch", "u", 8, 9) +
		`{"auditID":"half of a li`
	audit := &Audit{path: filepath.Join(t.TempDir(), "audit.log")}
	if err := os.WriteFile(audit.path, []byte(log), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time nothing is new
		got, err := audit.Since(Mark{at: at.Add(5 * time.Second)}, "u")
		if diff := cmp.Diff([]string{"d", "a", "e"}, ids(got)); diff != "" || err != nil {
			t.Errorf("Since: %v (-want +got):\n%s", err, diff)
		}
		got, err = audit.OpenWatches("u")
		if diff := cmp.Diff([]string{"e"}, ids(got)); diff != "" || err != nil {
			t.Errorf("OpenWatches: %v (-want +got):\n%s", err, diff)
		}
	}
}

func ids(requests []Request) []string {
	var list []string
	for _, r := range requests {
		list = append(list, r.id)
	}
	return list
}
