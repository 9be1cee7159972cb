package sim_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"github.com/ambit-dev/ambit/pkg/api/v1alpha1"
	"github.com/ambit-dev/ambit/pkg/controller"
	"github.com/ambit-dev/ambit/test/raced"
	"github.com/ambit-dev/ambit/test/sim"
)

// madePolicy makes a password, a CA and a certificate, beside fields of templates that come and go.
const madePolicy = `
apiVersion: ambit.dev/v1alpha1
kind: ReconcilePolicy
metadata: {name: made}
spec:
  owner: {apiVersion: cache.example.com/v1alpha1, kind: Memcached}
  children:
    - id: credentials
      existing: Adopt
      onDelete: Orphan
      template:
        apiVersion: v1
        kind: Secret
        metadata: {name: db}
        stringData: {user: "user-${owner.spec.size}", extra: "${owner.spec.size > 5 ? optional.of('x') : optional.none()}"}
      make:
        - {key: password, random: {length: 32}, rotate: {after: 2160h, keepPrevious: previous}}
    - id: ca
      template: {apiVersion: v1, kind: Secret, type: kubernetes.io/tls, metadata: {name: ca}}
      make:
        - ca: {lifetime: 17520h}
    - id: serving
      template:
        apiVersion: v1
        kind: Secret
        type: kubernetes.io/tls
        metadata: {name: tls, labels: {size: "${string(owner.spec.size)}", more: "${owner.spec.size > 5 ? optional.of('x') : optional.none()}"}}
      make:
        - certificate: {issuer: ca, dnsNames: ["db.${owner.metadata.namespace}.svc"], lifetime: 2160h}
    - id: trust
      template: {apiVersion: v1, kind: ConfigMap, metadata: {name: trust}, data: {bundle: "${ca.data['ca.crt']}"}}
`

var secrets = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}

func newMadeStage(t *testing.T, faults func(*counts) sim.Faults) *stage {
	c := &counts{all: map[string]int{}}
	s := newStageWith(t, true, c, faults(c))
	s.grantEverywhere("secrets", `[{apiGroups: [""], resources: [secrets, configmaps], verbs: [get, list, watch, create, patch, delete]}, {apiGroups: [cache.example.com], resources: [memcacheds], verbs: [patch]}]`)
	return s
}

func undisturbed(c *counts) sim.Faults { return c }

// secret is what a Secret has, decoded; nil if there is none.
func (s *stage) secret(name string) map[string]string {
	s.Helper()
	obj := s.read(secrets, "one", name)
	if obj == nil {
		return nil
	}
	data, _, _ := unstructured.NestedStringMap(obj.Object, "data")
	values := map[string]string{}
	for key, text := range data {
		value, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			s.Fatalf("%s of %s: %v", key, name, err)
		}
		values[key] = string(value)
	}
	return values
}

func (s *stage) patchSecret(name, patch string) {
	s.Helper()
	if _, err := s.admin.Resource(secrets).Namespace("one").Patch(s.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{FieldManager: "user"}); err != nil {
		s.Fatal(err)
	}
}

func (s *stage) isReady() bool { return condition(s.cache("one"), "Ready") == "True" }

// untilMade waits until all is made, and trusted.
func (s *stage) untilMade() {
	s.Helper()
	s.until("all is made", func() bool {
		return s.isReady() && s.read(resources()["configmaps"], "one", "trust") != nil && s.secret("tls")["tls.crt"] != ""
	})
}

// verify says why clients of the ConfigMap's bundle refuse the certificate that is served now.
func (s *stage) verify() error {
	s.Helper()
	bundle, _, _ := unstructured.NestedString(s.read(resources()["configmaps"], "one", "trust").Object, "data", "bundle")
	text, err := base64.StdEncoding.DecodeString(bundle)
	if err != nil {
		return err
	}
	return verifyPair(s.secret("tls"), string(text))
}

func verifyPair(serving map[string]string, bundle string) error {
	pair, err := tls.X509KeyPair([]byte(serving["tls.crt"]), []byte(serving["tls.key"]))
	if err != nil {
		return err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(bundle))
	_, err = pair.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "db.one.svc", CurrentTime: time.Now()})
	return err
}

// TestMade: values are made once, kept whatever changes around them, rotated and renewed when they are to be, and never otherwise.
func TestMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMadeStage(t, undisturbed)
		s.owner("one", 3)
		s.runWith(programs(t, madePolicy))
		s.untilMade()
		first := s.secret("db")
		if len(first["password"]) != 32 || first["user"] != "user-3" || s.verify() != nil {
			t.Fatalf("got %v, %v", first, s.verify())
		}
		s.restAnHour()
		if n := s.counts.of("get secrets"); n != 1 { // the CA's, to sign
			t.Errorf("%d Secrets were read", n)
		}

		tlsKey := s.secret("tls")["tls.key"]
		for _, size := range []int{4, 9, 2, 7, 1} { // fields are changed, added and removed
			s.resize("one", size)
			s.until("the template is applied", func() bool {
				_, more := s.read(secrets, "one", "tls").GetLabels()["more"]
				return s.secret("db")["user"] == fmt.Sprintf("user-%d", size) && (s.secret("db")["extra"] == "x") == (size > 5) && more == (size > 5) && s.isReady()
			})
			if s.secret("db")["password"] != first["password"] || s.secret("tls")["tls.key"] != tlsKey || s.verify() != nil {
				t.Fatalf("size %d: made values have changed: %v", size, s.verify())
			}
		}
		s.stop()
		s.runWith(programs(t, madePolicy))
		s.restAnHour()

		s.patchSecret("db", `{"metadata":{"annotations":{"ambit.dev/made":null}}}`)
		s.until("it is recorded again", func() bool { return s.read(secrets, "one", "db").GetAnnotations()[v1alpha1.AnnotationMade] != "" })
		if s.secret("db")["password"] != first["password"] {
			t.Error("without its record another password was made")
		}

		s.patchSecret("db", `{"metadata":{"annotations":{"ambit.dev/rotate":"now"}}}`)
		s.until("it is rotated", func() bool { return s.secret("db")["password"] != first["password"] })
		if second := s.secret("db"); second["previous"] != first["password"] || len(second["password"]) != 32 {
			t.Errorf("rotated: %v, was %v", second, first)
		}
		time.Sleep(time.Minute)
		s.restAnHour()
		s.patchSecret("tls", `{"data":{"tls.key":"eA=="}}`)
		s.until("the key is made anew", func() bool { return s.secret("tls")["tls.key"] != "x" && s.verify() == nil })
		s.stop()
	})
}

// TestMadeAcrossOwners: the Secret of an owner that goes stays, and the next one of that name takes it over with its password.
func TestMadeAcrossOwners(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newMadeStage(t, undisturbed)
		s.owner("one", 3)
		s.runWith(programs(t, madePolicy))
		s.untilMade()
		password := s.secret("db")["password"]
		for range 3 {
			s.delete("memcacheds", "one", "cache")
			s.until("the owner is gone", func() bool { return s.read(memcacheds, "one", "cache") == nil })
			s.until("what is not left behind goes", func() bool { return s.read(secrets, "one", "ca") == nil })
			s.owner("one", 3)
			s.untilMade()
			if got := s.secret("db")["password"]; got != password {
				t.Fatalf("the password is %q, was %q", got, password)
			}
		}
		s.stop()
	})
}

// TestMadeForLong: over three lifetimes of a CA, with an Ambit that is away for days, every certificate that is served is verified
// by whoever has the bundle of 50 minutes ago, or that of now. With the race detector TestMadePlans stands for it.
func TestMadeForLong(t *testing.T) {
	raced.Skip(t)
	synctest.Test(t, func(t *testing.T) {
		s := newMadeStage(t, undisturbed)
		s.owner("one", 3)
		policy := strings.NewReplacer("17520h", "480h", "2160h", "96h").Replace(madePolicy)
		s.runWith(programs(t, policy))
		s.untilMade()
		certificates, signers, passwords := map[string]bool{}, map[string]bool{}, map[string]bool{}
		const lifetimes = 3
		for hour := range lifetimes * 480 {
			before := s.secret("tls")["ca.crt"]
			if hour%100 == 50 { // a leaf has a third of its life left when it is due
				s.stop()
				time.Sleep(24 * time.Hour)
				s.runWith(programs(t, policy))
			}
			time.Sleep(50 * time.Minute)
			serving := s.secret("tls")
			if err := verifyPair(serving, before); err != nil {
				t.Fatalf("at %s a client with a bundle of 50 minutes ago: %v", time.Now(), err)
			}
			if err := s.verify(); err != nil {
				t.Fatalf("at %s: %v", time.Now(), err)
			}
			certificates[serving["tls.crt"]], signers[s.secret("ca")["tls.crt"]], passwords[s.secret("db")["password"]] = true, true, true
		}
		if len(signers) < lifetimes+1 || len(certificates) < lifetimes*20/3 || len(passwords) < lifetimes*4 {
			t.Errorf("%d CAs, %d certificates, %d passwords", len(signers), len(certificates), len(passwords))
		}
		writes := s.counts.of("patch secrets") + s.counts.of("create secrets")
		if most := 3*len(signers) + 2*len(signers) + len(certificates) + len(passwords); writes > most { // a CA joins, signs and leaves; its certificate takes each bundle
			t.Errorf("%d writes of Secrets, want at most %d", writes, most)
		}
		t.Logf("%d CAs, %d certificates, %d passwords, %d writes, %d reads", len(signers), len(certificates), len(passwords), writes, s.counts.of("get secrets"))
		s.stop()
	})
}

// losses are Faults that lose answers of writes of Secrets.
type losses struct {
	*counts
	seed, n int
}

// After implements sim.Faults.
func (f *losses) After(_ context.Context, r sim.Request, answer error) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.n++; r.User == ambitUser && r.Resource == secrets && (r.Verb == "create" || r.Verb == "patch") && (f.n+f.seed)%2 == 0 {
		return apierrors.NewTimeoutError("the answer is lost", 0)
	}
	return answer
}

// TestMadeByTwo: two processes at once, with every second answer lost, make one value, and rotate it once for each token.
func TestMadeByTwo(t *testing.T) {
	for seed := range 20 {
		synctest.Test(t, func(t *testing.T) {
			s := newMadeStage(t, func(c *counts) sim.Faults { return &losses{counts: c, seed: seed} })
			seen := watchValues(s)
			s.owner("one", 3)
			s.runWith(programs(t, madePolicy))
			stop := startAmbit(s.T, s.server, ambitUser, controller.Options{Programs: programs(t, madePolicy)})
			s.untilMade()
			for token := range 3 {
				s.patchSecret("db", fmt.Sprintf(`{"metadata":{"annotations":{"ambit.dev/rotate":"token-%d"}}}`, token))
				time.Sleep(10 * time.Minute)
			}
			err := s.verify()
			stop()
			s.stop()
			all := seen()
			if got := all["db password"]; len(got) != 4 {
				t.Errorf("seed %d: there were %d passwords of one, rotated three times", seed, len(got))
			}
			if got := all["tls tls.key"]; len(got) != 1 {
				t.Errorf("seed %d: there were %d keys", seed, len(got))
			}
			if err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		})
	}
}

// watchValues notes each value that a key of a Secret has had, in their order, by the names of both.
func watchValues(s *stage) (end func() map[string][]string) {
	s.Helper()
	all := map[string][]string{}
	stop := s.lookOn(secrets, "one", func(_ apiwatch.EventType, object *unstructured.Unstructured) {
		data, _, _ := unstructured.NestedStringMap(object.Object, "data")
		for key, value := range data {
			id := object.GetName() + " " + key
			if list := all[id]; !slices.Contains(list, value) {
				all[id] = append(list, value)
			}
		}
	})
	return func() map[string][]string {
		stop()
		return all
	}
}
