package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/test/cluster"
)

// contestUsers are the identities of the two that want the status of the same owner.
func contestUsers() []string { return []string{"contest-one", "contest-two"} }

const (
	// contestWindow is for how long two write one status.
	contestWindow = 20 * time.Second
	// contestWrites is how often one of them may write it meanwhile, what it has to say
	// before the other comes included.
	contestWrites = 12
	// contestNews is how long the status of a new spec waits at most, and some.
	contestNews = 15 * time.Second
	// contestPatience is longer than a contested write ever waits, which is a minute and a
	// fifth.
	contestPatience = 2 * time.Minute
)

// contestText is a policy that wants a ConfigMap of the owner's name, and says a word of
// its own in the status.
func contestText(name, word string) []byte {
	return fmt.Appendf(nil, `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: %s}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: common
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "${owner.metadata.name}"}, data: {text: same}}
  status:
    state: {status: %s}
`, name, word)
}

// contestant is an Ambit that writes the status of an owner that others write as well.
type contestant struct {
	*world
	*launched
	namespace string
}

// contestants are Ambits in one namespace, each with a policy and an account of its own.
func contestants(t *testing.T, policies ...[]byte) []contestant {
	t.Helper()
	rights := append(homeRights(), rightsTo("", "configmaps"))
	first := newWorld(t, contestUsers()[0])
	namespace := first.namespace(rights...)
	worlds := []*world{first}
	for _, user := range contestUsers()[1:len(policies)] {
		other := newWorld(t, user)
		other.flapAllow(namespace, user, user, rights...)
		worlds = append(worlds, other)
	}
	first.createOwner(namespace, "x", 1)
	var list []contestant
	for i, w := range worlds {
		w.decided(namespace, true, rights...)
		list = append(list, contestant{world: w, namespace: namespace})
		list[i].launched = w.launch(w.control.User(w.user), []string{namespace}, program(t, "policy.yaml", policies[i]))
		w.stateIs(namespace, "x", []string{"red", "blue"}[i])
	}
	return list
}

// stateIs waits until the owner's status has the word of one policy.
func (w *world) stateIs(namespace, name, word string) {
	w.t.Helper()
	w.eventuallyWithin(contestPatience, fmt.Sprintf("the status of %s/%s is %s", namespace, name, word), func(ctx context.Context) error {
		owner, err := w.owner(ctx, namespace, name)
		if err != nil {
			return err
		}
		if state, _, _ := unstructured.NestedString(owner.Object, "status", "state", "status"); state != word || conditionOf(owner, v1alpha1.ConditionReady) == nil {
			return fmt.Errorf("status is %v", owner.Object["status"])
		}
		return nil
	})
}

// wrote is how often the status was written since, in vain or not.
func (c contestant) wrote(mark cluster.Mark) int {
	return len(c.since(mark, func(r cluster.Request) bool {
		return r.Namespace == c.namespace && r.Resource == "memcacheds" && r.Subresource == "status" && r.IsWrite()
	}))
}

// logged is how many lines of the log have these words.
func (c contestant) logged(words string) int { return bytes.Count(c.lines(0), []byte(words)) }

// keepsCalm fails the test if there were too many writes since, or lines of the log.
func (c contestant) keepsCalm(mark cluster.Mark) {
	c.world.t.Helper()
	wrote, stalled, over := c.wrote(mark), c.logged("owner is stalled"), c.logged("owner is no longer stalled")
	c.world.t.Logf("%s: %d status patches in %s, %d times stalled and %d times no longer", c.user, wrote, contestWindow, stalled, over)
	if wrote > contestWrites {
		c.world.t.Errorf("%s has written the status %d times in %s, want at most %d", c.user, wrote, contestWindow, contestWrites)
	}
	if stalled > 1 || over > 1 {
		c.world.t.Errorf("the log of %s says the same again and again:\n%s", c.user, c.tail())
	}
}

// tells waits until the log has said who writes the status as well, by the field manager. How
// soon it does depends on whose turn it was: it is after a few writes that others undid.
func (c contestant) tells(by string) {
	c.world.t.Helper()
	c.world.eventuallyWithin(contestPatience, fmt.Sprintf("the log of %s says that %s writes the status", c.user, by), func(context.Context) error {
		if n := c.logged(fmt.Sprintf(`"managers"=[%q`, by)); n == 0 {
			return errors.New("it does not")
		}
		return nil
	})
}

// toldOnce fails the test if the log has said more than once that the status is contested.
func (c contestant) toldOnce() {
	c.world.t.Helper()
	if n := c.logged("writes the owner's status again and again"); n != 1 {
		c.world.t.Errorf("the log of %s says %d times that somebody else writes the status, want once:\n%s", c.user, n, c.tail())
	}
}

// TestStatusContested: two write the status of one owner. Neither does so without a pause,
// each says once who the other one is, and when one stops, the word of the other stands.
func TestStatusContested(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policies [2]string
	}{
		"TwoPolicies":      {policies: [2]string{"website", "two"}},
		"OnePolicyOfAName": {policies: [2]string{"website", "website"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both := contestants(t, contestText(tc.policies[0], "red"), contestText(tc.policies[1], "blue"))
			mark := both[0].control.Audit().Mark()
			both[0].patiently(contestWindow)
			for _, c := range both {
				c.keepsCalm(mark)
			}
			for i, c := range both {
				c.tells(v1alpha1.FieldManager(tc.policies[1-i]))
			}

			both[0].resize(both[0].namespace, "x", 3)
			began := time.Now()
			both[0].observed(both[0].namespace, "x")
			if took := time.Since(began); took > contestNews {
				t.Errorf("a new spec is in the status after %s", took)
			}

			for _, c := range both {
				c.toldOnce()
			}

			both[1].stop()
			both[0].stateIs(both[0].namespace, "x", "red")
			mark = both[0].control.Audit().Mark()
			both[0].patiently(3 * time.Second)
			both[0].stateIs(both[0].namespace, "x", "red")
			if n := both[0].wrote(mark); n > 0 {
				t.Errorf("the status is written %d times though nobody else writes it any more", n)
			}
		})
	}
}

// TestStatusWiped: a controller that does not know of conditions writes all of them away,
// whenever there are some.
func TestStatusWiped(t *testing.T) {
	t.Parallel()
	c := contestants(t, contestText("website", "red"))[0]
	const wipe = `{"status":{"conditions":null,"state":null,"nodes":["%d"]}}`
	owners := c.objects.Resource(memcacheds).Namespace(c.namespace)
	wipes := 0
	write := func(ctx context.Context) error {
		wipes++
		_, err := owners.Patch(ctx, "x", types.MergePatchType, fmt.Appendf(nil, wipe, wipes), metav1.PatchOptions{FieldManager: "wiper"}, "status")
		if apierrors.IsConflict(err) {
			return nil
		}
		return err
	}
	mark := c.control.Audit().Mark()
	if err := write(t.Context()); err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	c.stateIs(c.namespace, "x", "red")
	t.Logf("what somebody overwrote once is back after %s", time.Since(began))

	for end := time.Now().Add(contestWindow); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		owner, err := c.owner(t.Context(), c.namespace, "x")
		if err != nil {
			t.Fatal(err)
		}
		if conditionOf(owner, v1alpha1.ConditionReady) == nil {
			continue
		}
		if err := write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("it was written away %d times", wipes)
	c.keepsCalm(mark)
	c.tells("wiper")
	c.toldOnce()
	c.stateIs(c.namespace, "x", "red")
}
