package e2e

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ambit-dev/ambit/pkg/policy"
	"github.com/ambit-dev/ambit/test/cluster"
)

// TestLiveAccount: an edit has the policy act as a ServiceAccount, and another one as Ambit
// again: the streams of the one are closed when those of the other are there, and nothing is
// written twice.
func TestLiveAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-account")
	home := w.namespace(chosenRights()...)
	bot := "system:serviceaccount:" + home + ":bot"
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "bot"}}
	if _, err := w.typed.CoreV1().ServiceAccounts(home).Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.flapAllow(home, "be-bot", w.user, accountRule("bot", "impersonate", "list", "watch"))
	w.flapAllow(home, "bot", bot, chosenRights()...)
	as := func(account string) *policy.Program {
		return program(t, "account.yaml", fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: account, namespace: %s}
spec:
  %s
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: here
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}, data: {size: "${string(owner.spec.size)}"}}
`, home, account))
	}
	l := w.live([]string{home}, as(""))
	w.createOwner(home, "x", 1)
	asBot := w.in(t)
	asBot.user = bot
	size := int64(1)
	served := func(by, other *world, more ...string) {
		l.serves(home+"/account", 1)
		by.streamsIn(home, "configmaps", "memcacheds")
		other.streamsIn(home, more...)
		mark := w.control.Audit().Mark()
		size++
		w.resize(home, "x", size)
		w.copyHas(home, "x", fmt.Sprint(size))
		other.none(mark, "written as who the policy is not", func(r cluster.Request) bool { return r.IsWrite() && !isReview(r) })
	}
	served(w, asBot)
	before, err := w.typed.CoreV1().ConfigMaps(home).Get(t.Context(), "x", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		l.set(as("serviceAccountName: bot"))
		served(asBot, w, "serviceaccounts")
		l.set(as(""))
		served(w, asBot)
	}
	if now, err := w.typed.CoreV1().ConfigMaps(home).Get(t.Context(), "x", metav1.GetOptions{}); err != nil || now.UID != before.UID {
		t.Errorf("the child is another one: %v", err)
	}
}

// TestLiveEnsure: what the policy ensures is edited: it is changed, and what it no longer
// ensures goes, without another look at what stays.
func TestLiveEnsure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "live-ensure")
	w.grantEverywhere("triggers", rightsToWatchRBAC())
	w.decided("", true, rightsToWatchRBAC())
	rules := append(rightsOn("memcacheds", "memcacheds/status"), rightsTo("", "configmaps"))
	home := w.namespace(rules...)
	w.decided(home, true, rules...)
	at := func(version string, names ...string) string {
		text := liveChild("ConfigMap", "", liveHome, version) + "  ensure:\n"
		for _, name := range names {
			text += fmt.Sprintf(`    - id: %[1]s
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: %[1]s, namespace: %[2]s, labels: {mark: "%[3]s"}}}
`, name, home, version)
		}
		return text
	}
	l := w.live([]string{home}, livePolicy(t, "ensures", at("1", "first", "second")))
	w.member(home, "x", "ensures")
	w.marked("configmaps", home, "ensures", "1", 3)
	w.streamsAre("memcacheds "+home, "configmaps "+home, "roles *", "rolebindings *", "clusterroles *", "clusterrolebindings *")
	mark := w.settled()
	l.set(livePolicy(t, "ensures", at("2", "first", "second")))
	w.marked("configmaps", home, "ensures", "2", 3)
	l.set(livePolicy(t, "ensures", at("3", "first")))
	w.marked("configmaps", home, "ensures", "3", 2)
	w.none(mark, "opened while the policy was edited", isOpening)
	l.retire(livePolicy(t, "ensures", at("3", "first")))
	l.isRetired("ambit-system/ensures")
	w.marked("configmaps", home, "ensures", "", 0)
}
